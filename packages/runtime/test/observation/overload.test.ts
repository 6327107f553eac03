import { AsyncLocalStorage } from 'node:async_hooks'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { prometheus } from '../../src/index.js'
import { RejectionLimiter } from '../../src/observation/rejection-limiter.js'
import { start } from '../holdfast/setup.js'

const CONFIG = {
  policies: {
    send: { maxAttempts: 1, enableCircuitBreaker: true },
    small: { maxAttempts: 1, bulkhead: { limit: 1, queue: 0 } },
  },
} as const

/** Starts calls and returns how many of them were rejected with a code. */
async function rejected(count: number, call: () => Promise<unknown>): Promise<(string | undefined)[]> {
  const ends = await Promise.all(
    Array.from({ length: count }, () =>
      call().then(
        () => undefined,
        (error) => error.code as string,
      ),
    ),
  )
  return [...new Set(ends)]
}

describe('calls that an open breaker or a full bulkhead rejects', () => {
  it('are all counted, and only the first of a second has a session and events', async () => {
    const { hf, clock, events } = await start(CONFIG)
    await hf.breakers.trip('policy:send')
    events.length = 0
    const errorsBefore = (await hf.errors.list()).items.length
    const call = () => hf.run('send', () => 'sent')

    expect(await rejected(100, call)).toEqual(['CIRCUIT_OPEN'])
    expect((await hf.sessions.list()).items).toMatchObject([{ stopped: 'circuit_open', success: false }])
    expect(events.map(({ eventType }) => eventType)).toEqual(['retry_failure'])
    expect((await hf.errors.list()).items.length - errorsBefore).toBe(1)

    await clock.advance(1000)
    expect(events.at(-1)).toMatchObject({
      eventType: 'calls_shed',
      operation: 'send',
      context: { reason: 'circuit_open', count: 100 },
    })
    await rejected(1, call)
    expect((await hf.sessions.list()).items).toHaveLength(2)
    await clock.advance(1000)
    expect(events.filter(({ eventType }) => eventType === 'calls_shed')).toHaveLength(1)

    expect(hf.metrics.counters().operations.get('send')).toMatchObject({ failed: 101 })
    const window = await hf.metrics.window({
      from: new Date(clock.wall() - 60_000),
      to: new Date(clock.wall()),
    })
    expect(window.failureByReason).toEqual({ circuit_open: 101 })
    expect(await prometheus(hf)).toContain(
      'holdfast_rejections_total{operation="send",reason="circuit_open"} 101',
    )
  })

  it('are limited by operation and by reason', async () => {
    const { hf, events } = await start(CONFIG)
    let release = () => {}
    const running = hf.run(
      'small',
      () =>
        new Promise<void>((resolve) => {
          release = resolve
        }),
    )
    await hf.breakers.trip('policy:send')

    await rejected(3, () => hf.run('small', () => 1))
    await rejected(3, () => hf.run('send', () => 1))
    const { items } = await hf.sessions.list()
    expect(items.map(({ operation, stopped }) => [operation, stopped])).toEqual([
      ['send', 'circuit_open'],
      ['small', 'bulkhead_full'],
    ])
    release()
    await running
    await hf.close()
    expect(
      events.filter(({ eventType }) => eventType === 'calls_shed').map(({ context }) => context),
    ).toEqual([
      { reason: 'bulkhead_full', count: 3 },
      { reason: 'circuit_open', count: 3 },
    ])
  })

  it('become dead letters, each of them', async () => {
    const { hf } = await start(CONFIG)
    await hf.breakers.trip('policy:send')
    for (const id of [1, 2, 3]) await rejected(1, () => hf.run('send', () => 1, { payload: { id } }))

    const { items } = await hf.deadLetters.list({ order: 'oldest' })
    expect(items.map(({ originalPayload }) => originalPayload)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
    expect(items.map(({ sessionId }) => typeof sessionId)).toEqual(['string', 'undefined', 'undefined'])
  })
})

it('the timer of calls_shed is started outside the async context of the rejected call', () => {
  const storage = new AsyncLocalStorage<string>()
  const clock = fakeClock()
  const contexts: (string | undefined)[] = []
  const setTimer: typeof clock.setTimer = (fn, ms) => {
    contexts.push(storage.getStore())
    return clock.setTimer(fn, ms)
  }
  const limiter = new RejectionLimiter({ ...clock, setTimer }, () => {})
  storage.run('request 7', () => limiter.admit('send', 'circuit_open'))
  limiter.flush()
  expect(contexts).toEqual([undefined])
})
