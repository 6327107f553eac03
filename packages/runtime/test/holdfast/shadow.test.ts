import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failing, refused, start, timeout, unauthorized } from './setup.js'

const told = ({ events }: Awaited<ReturnType<typeof start>>) =>
  events.filter(({ context }) => context?.shadow === true)
const words = (started: Awaited<ReturnType<typeof start>>) =>
  told(started).map(({ eventType, context }) => [eventType, context?.stopped ?? context?.code ?? null])

describe('a policy in shadow mode', () => {
  it('reports an attempt that it would have timed out, although it succeeded, and the next step', async () => {
    const started = await start({
      policies: {
        fetch: {
          shadow: true,
          attemptTimeout: 100,
          totalTimeout: 5000,
          backoffType: 'fixed',
          baseDelay: 70,
        },
      },
    })
    const { hf, clock } = started
    const slow = hf.run('fetch', () => new Promise((resolve) => clock.setTimer(() => resolve('late'), 250)))
    await clock.advance(250)
    expect(await slow).toBe('late')
    expect(await hf.run('fetch', () => 'quick')).toBe('quick')
    expect(told(started)).toMatchObject([
      {
        eventType: 'retry_attempt',
        policyId: 'fetch',
        operation: 'fetch',
        attempt: 2,
        maxAttempts: 3,
        delay: 70,
        error: { type: 'HoldfastError', message: expect.stringContaining('100 ms') },
        context: { shadow: true, code: 'ATTEMPT_TIMEOUT' },
      },
    ])
    expect((await hf.sessions.list()).items).toEqual([])
    expect((await hf.metrics.summary()).totalRetries).toBe(0)
  })

  it('reports a call that it would have ended at its deadline, and a delay beyond it', async () => {
    const started = await start({
      policies: { fetch: { shadow: true, totalTimeout: 100, backoffType: 'fixed', baseDelay: 80 } },
    })
    const { hf, clock } = started
    const after = (ms: number) =>
      hf.run('fetch', () => new Promise((_, reject) => clock.setTimer(() => reject(timeout()), ms)))
    for (const ms of [10, 40, 101]) {
      const call = after(ms).catch((error: unknown) => error)
      await clock.advance(ms)
      expect(await call).toMatchObject({ message: 'took too long' })
    }
    expect(words(started)).toEqual([
      ['retry_attempt', null],
      ['retry_failure', 'deadline'],
      ['retry_failure', 'deadline'],
    ])
    expect(told(started)[2]).toMatchObject({ context: { code: 'TOTAL_TIMEOUT' } })
  })

  it('reports a breaker that would have opened and rejected calls, and rejects none', async () => {
    const started = await start({
      policies: {
        fetch: {
          shadow: true,
          maxAttempts: 2,
          backoffType: 'immediate',
          enableCircuitBreaker: true,
          circuitBreakerThreshold: 2,
          circuitBreakerTimeout: 1000,
        },
      },
    })
    const { hf, clock } = started
    await failing(hf, 'fetch', refused)
    expect(await hf.run('fetch', () => 'fine')).toBe('fine')
    await failing(hf, 'fetch', refused)
    await failing(hf, 'fetch', refused)
    expect(await hf.run('fetch', () => 'let through')).toBe('let through')
    await clock.advance(1000)
    expect(await hf.run('fetch', () => 'tested')).toBe('tested')
    expect(words(started)).toEqual([
      ['retry_attempt', null],
      ['retry_attempt', null],
      ['circuit_breaker_opened', null],
      ['retry_failure', 'circuit_open'],
      ['retry_failure', 'circuit_open'],
      ['circuit_breaker_half_opened', null],
      ['circuit_breaker_closed', null],
    ])
    const [, , opened, ended, turnedAway] = told(started)
    expect(opened).toMatchObject({
      policyId: 'fetch',
      component: 'circuit_breaker',
      context: { id: 'policy:fetch', fromState: 'closed', toState: 'open', failureCount: 2 },
    })
    expect(ended).toMatchObject({ error: { message: 'connect ECONNREFUSED' } })
    expect(turnedAway).toMatchObject({ policyId: 'fetch', context: { code: 'CIRCUIT_OPEN' } })
    // Nothing of it is true of the breakers there are.
    expect(await hf.breakers.get('policy:fetch')).toMatchObject({ state: 'closed', failureCount: 0 })
    expect((await hf.breakers.events()).items).toEqual([])
    expect((await hf.metrics.summary()).circuitBreakerEventsCount).toBe(0)
    expect((await hf.errors.list()).items.every(({ errorType }) => errorType === 'Error')).toBe(true)
  })

  it('uses a separate copy of a shared breaker, and does not change the original', async () => {
    const started = await start({
      circuitBreakers: { api: { failureThreshold: 1, timeoutDuration: 1000 } },
      policies: {
        next: { shadow: true, circuitBreaker: 'api' },
        now: { maxAttempts: 1, circuitBreaker: 'api' },
      },
    })
    const { hf } = started
    await failing(hf, 'next', refused)
    expect(await hf.run('now', () => 'fine')).toBe('fine')
    expect(await hf.run('next', () => 'fine')).toBe('fine')
    expect(words(started)).toEqual([
      ['circuit_breaker_opened', null],
      ['retry_failure', 'circuit_open'],
      ['retry_failure', 'circuit_open'],
    ])
  })

  it('reports a budget that would be exhausted and a bulkhead that would be full', async () => {
    const started = await start({
      policies: {
        thrifty: {
          shadow: true,
          backoffType: 'immediate',
          budget: { ratio: 0.5, reservePerSecond: 0, window: 10_000 },
        },
        narrow: { shadow: true, bulkhead: { limit: 1, queue: 0 } },
      },
    })
    const { hf, clock } = started
    await failing(hf, 'thrifty', refused)
    await failing(hf, 'thrifty', refused)
    expect(words(started)).toEqual([
      ['retry_failure', 'budget_spent'],
      ['retry_attempt', null],
    ])
    const wait = () => hf.run('narrow', () => new Promise((done) => clock.setTimer(() => done('ok'), 10)))
    const both = Promise.all([wait(), wait()])
    await clock.advance(10)
    expect(await both).toEqual(['ok', 'ok'])
    const third = wait()
    await clock.advance(10)
    await third
    expect(words(started).slice(2)).toEqual([['retry_failure', 'bulkhead_full']])
  })

  it('keeps the window of its breaker when the file changes', async () => {
    const policies = (threshold: number) => ({
      policies: {
        fetch: { shadow: true, enableCircuitBreaker: true, circuitBreakerThreshold: threshold },
      },
    })
    const started = await start(policies(3))
    const { hf } = started
    await failing(hf, 'fetch', refused)
    await hf.policies.put({ id: 'fetch', circuitBreakerThreshold: 2 }, { by: 'ops' })
    await failing(hf, 'fetch', refused)
    expect(words(started).map(([type]) => type)).toContain('circuit_breaker_opened')
  })

  it('decides only about its own error kind next to other policies', async () => {
    const started = await start({
      policies: {
        real: { maxAttempts: 2, backoffType: 'immediate' },
        next: {
          shadow: true,
          maxAttempts: 4,
          backoffType: 'fixed',
          baseDelay: 30,
          enableCircuitBreaker: true,
        },
      },
      subsystemMappings: { web: { load: { network_error: 'real', timeout: 'next' } } },
    })
    const { hf } = started
    await failing(hf, 'web.load', refused)
    expect(told(started)).toEqual([])
    await failing(hf, 'web.load', timeout)
    expect(told(started)).toMatchObject([{ policyId: 'next', attempt: 2, maxAttempts: 4, delay: 30 }])
  })

  it('predicts the first decision that it makes in active mode, for all generated policies', async () => {
    const POLICY = fc.record({
      maxAttempts: fc.integer({ min: 1, max: 3 }),
      backoffType: fc.constantFrom('exponential', 'linear', 'fixed', 'immediate', 'fibonacci'),
      baseDelay: fc.integer({ min: 0, max: 400 }),
      attemptTimeout: fc.option(fc.constantFrom(50, 100, 200)),
      totalTimeout: fc.option(fc.constantFrom(60, 100, 300)),
      enableCircuitBreaker: fc.boolean(),
      circuitBreakerThreshold: fc.integer({ min: 1, max: 2 }),
      retryableExceptions: fc.option(fc.constantFrom([], ['timeout'], ['network_error'])),
      budget: fc.option(fc.constantFrom({ ratio: 0, reservePerSecond: 0, window: 1000 })),
    })
    const OUTCOME = fc.record({
      after: fc.constantFrom(0, 49, 50, 99, 100, 101, 250, 400),
      error: fc.constantFrom(undefined, refused, timeout, unauthorized, () => new TypeError('a bug')),
    })
    await fc.assert(
      fc.asyncProperty(POLICY, OUTCOME, async (policy, { after, error }) => {
        const decided = async (shadow: boolean) => {
          const { hf, clock, events } = await start({ policies: { p: { ...policy, shadow } } })
          let calls = 0
          const call = () =>
            hf.run('p', () => {
              calls++
              return new Promise((resolve, reject) =>
                clock.setTimer(() => (error === undefined ? resolve('value') : reject(error())), after),
              )
            })
          const ended = call().catch((thrown: unknown) => String(thrown))
          await clock.advance(5000)
          const result = await ended
          if (shadow) {
            expect(calls).toBe(1)
            expect(result).toBe(error === undefined ? 'value' : String(error()))
          }
          const asked = events.filter(({ context }) => !shadow || context?.shadow === true)
          const [first] = asked.filter(({ eventType }) => eventType.startsWith('retry_'))
          const opened = asked.findIndex(({ eventType }) => eventType === 'circuit_breaker_opened')
          await hf.close()
          return first === undefined
            ? 'nothing'
            : [first.eventType, first.delay, first.context?.stopped, first.error, opened === 0]
        }
        expect(await decided(true)).toEqual(await decided(false))
      }),
      { numRuns: 60 },
    )
  })
})
