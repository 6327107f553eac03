// `performance` was captured at import: under the fake timers of vitest and Jest delays ended, but deadlines and open times did not.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { CircuitBreaker, guard, RetryBudget, sessionOf } from '../../src/index.js'
import { fate, rejection } from '../guard/watch.js'

const never = () => new Promise<never>(() => {})
const down = () => Promise.reject(new Error('down'))

type Fakes = NonNullable<Parameters<typeof vi.useFakeTimers>[0]>

const TIMERS: Fakes['toFake'] = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval']

/** The globals that test runners fake: vitest 3 and later and Jest all of them, earlier vitest not `performance`. */
const SETS: [string, Fakes | undefined][] = [
  ['the default of vitest', undefined],
  [
    'all that Jest fakes',
    {
      toFake: [
        ...TIMERS,
        'setImmediate',
        'clearImmediate',
        'Date',
        'performance',
        'hrtime',
        'queueMicrotask',
      ],
    },
  ],
  ['timers, Date and performance', { toFake: [...TIMERS, 'Date', 'performance'] }],
  ['timers and Date, as vitest 2 did', { toFake: [...TIMERS, 'setImmediate', 'clearImmediate', 'Date'] }],
  ['timers and performance', { toFake: [...TIMERS, 'performance'] }],
]

afterEach(() => {
  vi.useRealTimers()
})

describe.each(SETS)('under fake timers: %s', (_, fakes) => {
  it('an attempt timeout passes when fake time does, and not before', async () => {
    const api = guard({
      timeout: { attempt: 1000 },
      retry: { maxAttempts: 2, baseDelay: 500, jitterType: 'none' },
    })
    vi.useFakeTimers(fakes)
    const call = fate(api.run(never))
    await vi.advanceTimersByTimeAsync(2499)
    expect(call.state).toBe('pending')
    await vi.advanceTimersByTimeAsync(1)
    expect(call.error).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    expect(sessionOf(call.error)?.attempts.map(({ duration }) => duration)).toEqual([1000, 1000])
  })

  it('a total timeout passes with timers that are advanced at once, and later for calls started later', async () => {
    vi.useFakeTimers(fakes)
    const api = guard({ timeout: { total: 1000 } })
    const first = fate(api.run(never))
    vi.advanceTimersByTime(400)
    const second = fate(api.run(never))
    vi.advanceTimersByTime(600)
    await Promise.resolve()
    await Promise.resolve()
    expect([first.state, second.state]).toEqual(['rejected', 'pending'])
    await vi.advanceTimersByTimeAsync(399)
    expect(second.state).toBe('pending')
    await vi.advanceTimersByTimeAsync(1)
    expect(second.error).toMatchObject({ code: 'TOTAL_TIMEOUT' })
  })

  it('a breaker that opened before admits a probe when its open time has passed in fake time', async () => {
    const breaker = new CircuitBreaker({ timeoutDuration: 30_000 })
    breaker.trip()
    vi.useFakeTimers(fakes)
    await vi.advanceTimersByTimeAsync(29_000)
    expect(breaker.admit()).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1005)
    expect(breaker.admit()).toBeDefined()
  })

  it('failures leave the window of a breaker in fake time', async () => {
    vi.useFakeTimers(fakes)
    const breaker = new CircuitBreaker({ failureThreshold: 2, windowDuration: 1000 })
    await rejection(breaker.run(down))
    await vi.advanceTimersByTimeAsync(1001)
    expect(breaker.failureCount).toBe(0)
    await rejection(breaker.run(down))
    expect(breaker.state).toBe('closed')
  })

  it('a retry budget fills up in fake time', async () => {
    vi.useFakeTimers(fakes)
    const budget = new RetryBudget({ ratio: 0, reservePerSecond: 1, window: 1000 })
    while (budget.withdraw());
    await vi.advanceTimersByTimeAsync(1001)
    expect(budget.withdraw()).toBe(true)
  })
})

describe('under fake timers with real clocks', () => {
  it('a deadline passes when its timer fires', async () => {
    vi.useFakeTimers({ toFake: TIMERS })
    const call = fate(guard({ timeout: { attempt: 1000 }, retry: false }).run(never))
    await vi.advanceTimersByTimeAsync(1005)
    expect(call.error).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
  })
})

describe('with a fake Date and real timers', () => {
  it('time is monotonic and advances', async () => {
    const breaker = new CircuitBreaker({ timeoutDuration: 30_000 })
    breaker.trip()
    // oxlint-disable-next-line holdfast/clock -- the replaced wall clock is what this test moves
    vi.setSystemTime(Date.now() + 86_400_000)
    expect(breaker.admit()).toBeUndefined()
    const call = await rejection(guard({ timeout: { attempt: 5 }, retry: false }).run(never))
    expect(call).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
  })
})

describe('after fake timers', () => {
  it('deadlines follow real time again', async () => {
    vi.useFakeTimers()
    const api = guard({ timeout: { attempt: 5 }, retry: false })
    const call = fate(api.run(never))
    await vi.advanceTimersByTimeAsync(5)
    expect(call.state).toBe('rejected')
    vi.useRealTimers()
    expect(await rejection(api.run(never))).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
  })
})
