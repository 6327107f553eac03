import { describe, expect, it } from 'vitest'
import { refused, start, timeout } from './setup.js'

const CONFIG = {
  policies: {
    slow: { maxAttempts: 3, backoffType: 'fixed', baseDelay: 1000 },
    network: { maxAttempts: 5, backoffType: 'fixed', baseDelay: 2000 },
    off: { enabled: false },
  },
  subsystemMappings: {
    browser: { state: { timeout: 'slow', network_error: 'network' }, off: { default: 'off' } },
  },
}

describe('a call of an operation', () => {
  it('that succeeds at the first attempt leaves no session', async () => {
    const { hf, events } = await start(CONFIG)
    expect(await hf.run('browser.state', async () => 7)).toBe(7)
    expect((await hf.sessions.list()).items).toEqual([])
    expect(events).toEqual([])
    const now = new Date(Date.UTC(2026, 0, 29, 13))
    const window = await hf.metrics.window({ from: new Date(0), to: now })
    expect(window).toMatchObject({ totalSessions: 1, successfulSessions: 1, totalAttempts: 1 })
    expect(window.bySubsystem).toEqual({ browser: { sessions: 1, successRate: 1, averageAttempts: 1 } })
  })

  it('uses the policy of the kind of each error, and counts attempts over the whole call', async () => {
    const { hf, clock, events } = await start(CONFIG)
    const errors = [timeout(), refused(), refused(), refused()]
    let calls = 0
    const call = hf.run(
      'browser.state',
      async () => {
        const error = errors[calls++]
        if (error) throw error
        return 'saved'
      },
      { context: { stateId: 'abc' }, correlationId: 'corr-1' },
    )
    await clock.advance(1000)
    expect(calls).toBe(2)
    const [active] = (await hf.sessions.list({ active: true })).items
    expect(active).toMatchObject({ operation: 'browser.state', success: false, totalAttempts: 2 })
    expect(active?.nextRetryTime?.getTime()).toBe(clock.wall() + 2000)
    await clock.advance(6000)
    expect(await call).toBe('saved')
    const [session] = (await hf.sessions.list()).items
    expect(session).toMatchObject({
      policyId: 'network',
      policyIds: ['slow', 'network'],
      correlationId: 'corr-1',
      subsystem: 'browser',
      success: true,
      stopped: 'succeeded',
      totalAttempts: 5,
      retryCount: 4,
      totalDuration: 7000,
      context: { stateId: 'abc' },
    })
    expect(session?.attempts.map(({ delay, outcome }) => [delay, outcome])).toEqual([
      [0, 'timeout'],
      [1000, 'failure'],
      [2000, 'failure'],
      [2000, 'failure'],
      [2000, 'success'],
    ])
    expect(session?.sessionId).toMatch(/^slow_\d+_[0-9a-z]{8}$/)
    expect(await hf.sessions.get(session?.sessionId ?? '')).toEqual(session)
    expect(events.map(({ eventType, attempt, maxAttempts }) => [eventType, attempt, maxAttempts])).toEqual([
      ['retry_attempt', 2, 3],
      ['retry_attempt', 3, 5],
      ['retry_attempt', 4, 5],
      ['retry_attempt', 5, 5],
      ['retry_success', 5, undefined],
    ])
    expect(new Set(events.map(({ correlationId }) => correlationId))).toEqual(new Set(['corr-1']))
  })

  it('stops by the policy of its last error', async () => {
    const { hf, clock } = await start(CONFIG)
    const errors = [refused(), refused(), timeout()]
    let calls = 0
    const call = hf
      .run('browser.state', () => Promise.reject(errors[calls++]))
      .catch((error: unknown) => error)
    await clock.advance(60_000)
    expect(await call).toBe(errors[2])
    expect(calls).toBe(3)
    const [session] = (await hf.sessions.list()).items
    expect(session).toMatchObject({ stopped: 'attempts_spent', policyId: 'slow', totalAttempts: 3 })
    expect(session?.finalError).toEqual({ type: 'TimeoutError', message: 'took too long' })
  })

  it('is not retried if its subsystem or policy is disabled', async () => {
    const { hf } = await start({ ...CONFIG, subsystems: { browser: { enabled: false } } })
    let calls = 0
    await expect(
      hf.run('browser.state', async () => {
        calls++
        throw timeout()
      }),
    ).rejects.toThrow('took too long')
    await expect(hf.run('off', () => Promise.reject(timeout()))).rejects.toThrow('took too long')
    expect(calls).toBe(1)
    expect((await hf.sessions.list()).items).toEqual([])
  })

  it('is rejected for an unknown policy, service or pool', async () => {
    const { hf } = await start(CONFIG)
    const run = (options: object) => hf.run('browser.state', async () => 1, options)
    await expect(run({ policy: 'unknown' })).rejects.toMatchObject({ code: 'POLICY_NOT_FOUND' })
    await expect(run({ service: 'unknown' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    await expect(run({ pool: 'unknown' })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })

  it('accepts a policy in its options', async () => {
    const { hf } = await start(CONFIG)
    let calls = 0
    const fail = () => {
      calls++
      return Promise.reject(refused())
    }
    await expect(
      hf.run('browser.state', fail, { policy: { maxAttempts: 4, backoffType: 'immediate' } }),
    ).rejects.toThrow('ECONNREFUSED')
    expect(calls).toBe(4)
    calls = 0
    await expect(
      hf.run('browser.state', fail, { policy: { maxAttempts: 1 }, name: 'save_state' }),
    ).rejects.toThrow('ECONNREFUSED')
    expect(calls).toBe(1)
    expect((await hf.sessions.list({ operation: 'save_state' })).items).toHaveLength(1)
  })
})

describe('breakers of a runtime', () => {
  const config = {
    policies: {
      own: {
        maxAttempts: 1,
        enableCircuitBreaker: true,
        circuitBreakerThreshold: 2,
        circuitBreakerTimeout: 5000,
      },
      named: { maxAttempts: 1, circuitBreaker: 'notion' },
    },
    circuitBreakers: {
      notion: { failureThreshold: 2, windowType: 'consecutive', timeoutDuration: 1000 },
      idle: { failureThreshold: 9 },
    },
  }

  it('of a policy open after its failures, and emit events', async () => {
    const { hf, clock, events } = await start(config)
    const fail = () => hf.run('own', () => Promise.reject(refused())).catch((error) => error)
    await fail()
    await fail()
    expect(await hf.breakers.get('policy:own')).toMatchObject({
      state: 'open',
      policyId: 'own',
      failureCount: 2,
      windowType: 'consecutive',
    })
    expect(await fail()).toMatchObject({ code: 'CIRCUIT_OPEN', retryAfter: 5000 })
    expect(events.map(({ eventType }) => eventType)).toContain('circuit_breaker_opened')
    const [session] = (await hf.sessions.list()).items
    expect(session).toMatchObject({ stopped: 'circuit_open', totalAttempts: 1 })
    expect(session?.attempts[0]).toMatchObject({ outcome: 'circuit_open', duration: 0, attemptNumber: 1 })
    await clock.advance(5000)
    await hf.run('own', async () => 'fine')
    expect(await hf.breakers.get('policy:own')).toMatchObject({ state: 'closed' })
    expect((await hf.metrics.summary()).circuitBreakerEventsCount).toBe(3)
  })

  it('of a service are shared by all calls of the service', async () => {
    const { hf } = await start(config)
    const fail = (operation: string, options?: object) =>
      hf.run(operation, () => Promise.reject(refused()), options).catch((error) => error)
    await fail('named')
    await fail('own', { service: 'notion', policy: { maxAttempts: 1 } })
    expect(await hf.breakers.get('service:notion')).toMatchObject({ state: 'open', serviceName: 'notion' })
    expect(await fail('named')).toMatchObject({ code: 'CIRCUIT_OPEN' })
    expect(await hf.breakers.list({ state: 'closed' })).toMatchObject([
      { id: 'service:idle' },
      { id: 'policy:own' },
    ])
  })

  it('are reset and tripped by name, with an audit record', async () => {
    const { hf } = await start(config)
    await hf.breakers.trip('service:idle', { by: 'ann', reason: 'maintenance' })
    expect(await hf.breakers.get('service:idle')).toMatchObject({ state: 'open' })
    await hf.breakers.reset('service:idle', { by: 'ann' })
    expect(await hf.breakers.get('service:idle')).toMatchObject({ state: 'closed' })
    const { items } = await hf.audit.list()
    expect(items.map(({ actor, action, target, reason }) => [actor, action, target, reason])).toEqual([
      ['ann', 'breaker.reset', 'service:idle', undefined],
      ['ann', 'breaker.trip', 'service:idle', 'maintenance'],
    ])
    await expect(hf.breakers.reset('service:unknown')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('a call that is cancelled', () => {
  it('rejects with CANCELLED in every phase', async () => {
    const { hf, clock } = await start(CONFIG)
    const waits = hf.run('browser.state', () => Promise.reject(timeout())).catch((error) => error)
    await clock.advance(1)
    const [session] = (await hf.sessions.list({ active: true })).items
    expect(await hf.sessions.cancel(session?.sessionId ?? '', { by: 'ann' })).toBe(true)
    expect(await waits).toMatchObject({ code: 'CANCELLED' })
    expect(await hf.sessions.get(session?.sessionId ?? '')).toMatchObject({ stopped: 'cancelled' })
    expect(await hf.sessions.cancel('unknown')).toBe(false)
  })

  it('is cancelled by close after ten seconds, and new calls are rejected', async () => {
    const { hf, clock } = await start(CONFIG)
    const hangs = hf.run('browser.state', () => new Promise(() => {})).catch((error) => error)
    const closed = hf.close()
    await expect(hf.run('browser.state', async () => 1)).rejects.toMatchObject({ code: 'CANCELLED' })
    expect(hf.close()).toBe(closed)
    await clock.advance(10_000)
    expect(await hangs).toMatchObject({ code: 'CANCELLED' })
    await closed
    expect(await hf.health()).toMatchObject({ status: 'closed', activeSessions: 0 })
  })
})

it('guards, pipelines and replays use hf.run, so that a wrapper around it sees all calls', async () => {
  const { hf } = await start({ policies: { once: { maxAttempts: 1 } } })
  const seen: string[] = []
  const run = hf.run.bind(hf)
  hf.run = (operation, fn, options) => {
    seen.push(operation)
    return run(operation, fn, options)
  }
  await hf.guard('once').run(() => 1)
  await hf.pipeline([{ operation: 'step', run: () => 1 }]).run([{ id: 'a' }])
  hf.deadLetters.handle('again', () => {})
  const { dlqId } = await hf.deadLetters.enqueue({ operation: 'again', itemId: '1', payload: 1, error: 'x' })
  await hf.deadLetters.replay(dlqId)
  expect(seen).toEqual(['once', 'step', 'again'])
})
