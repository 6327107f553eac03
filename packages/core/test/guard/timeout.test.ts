import { describe, expect, it } from 'vitest'
import { type Attempt, type Clock, guard, type HoldfastError, sessionOf } from '../../src/index.js'
import { type FakeClock, fakeClock } from '../../src/testing/index.js'
import { errorWith, fate, never } from './watch.js'

/** A function that fails, or returns, after that many milliseconds. */
const after = (clock: Clock, ms: number, outcome: unknown) => () =>
  new Promise<unknown>((resolve, reject) =>
    clock.setTimer(() => (outcome instanceof Error ? reject(outcome) : resolve(outcome)), ms),
  )

/** A clock that counts its pending timers. */
function countingClock(): FakeClock & { pending(): number } {
  const clock = fakeClock()
  const handles = new Set<unknown>()
  return {
    ...clock,
    pending: () => handles.size,
    setTimer(fn, ms) {
      const handle = clock.setTimer(() => {
        handles.delete(handle)
        fn()
      }, ms)
      handles.add(handle)
      return handle
    },
    clearTimer(handle) {
      handles.delete(handle)
      clock.clearTimer(handle)
    },
  }
}

describe('an attempt that takes too long', () => {
  it('ends with ATTEMPT_TIMEOUT at its deadline and not before', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, retry: false, timeout: { attempt: 100 } }).run(never))
    await clock.advance(99)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'ATTEMPT_TIMEOUT' } })
  })

  it('names the attempt, the guard and the timeout in its message', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, name: 'mail', retry: false, timeout: { attempt: '2s' } }).run(never))
    await clock.advance(2000)
    expect((call.error as Error).message).toMatch(/attempt 1 of mail.*2000 ms/)
  })

  it('is retried, because a timeout is transient', async () => {
    const clock = fakeClock()
    const began: number[] = []
    const api = guard({ clock, timeout: { attempt: 100 }, retry: { baseDelay: 50 } })
    const call = fate(
      api.run(() => {
        began.push(clock.now())
        return never()
      }),
    )
    await clock.advance(1000)
    expect(began).toEqual([0, 150, 350])
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'ATTEMPT_TIMEOUT' } })
    expect(sessionOf(call.error)?.attempts.map(({ outcome, duration }) => [outcome, duration])).toEqual([
      ['timeout', 100],
      ['timeout', 100],
      ['timeout', 100],
    ])
  })

  it('is not retried where abortOn lists it', async () => {
    const clock = fakeClock()
    const api = guard({ clock, timeout: { attempt: 100 }, retry: { abortOn: ['ATTEMPT_TIMEOUT'] } })
    const call = fate(api.run(never))
    await clock.advance(100)
    expect(sessionOf(call.error)?.stopped).toBe('not_retryable')
  })

  it('has its signal aborted, with the error as reason', async () => {
    const clock = fakeClock()
    const attempts: Attempt[] = []
    const call = fate(
      guard({ clock, retry: false, timeout: { attempt: 100 } }).run((attempt) => {
        attempts.push(attempt)
        return never()
      }),
    )
    await clock.advance(100)
    expect(attempts[0]?.signal.aborted).toBe(true)
    expect(attempts[0]?.signal.reason).toBe(call.error)
  })

  it('has an aborted signal although it reads it only after the deadline', async () => {
    const clock = fakeClock()
    let aborted: boolean | undefined
    fate(
      guard({ clock, retry: false, timeout: { attempt: 100 } }).run(async (attempt) => {
        await after(clock, 150, undefined)()
        aborted = attempt.signal.aborted
      }),
    )
    await clock.advance(200)
    expect(aborted).toBe(true)
  })

  it('does not abort the signals of other attempts', async () => {
    const clock = fakeClock()
    const attempts: Attempt[] = []
    const api = guard({ clock, timeout: { attempt: 100 }, retry: { backoffType: 'immediate' } })
    const call = fate(
      api.run((attempt) => {
        attempts.push(attempt)
        return attempt.number === 2 ? 'up' : never()
      }),
    )
    await clock.advance(500)
    expect(call.value).toBe('up')
    expect(attempts.map(({ signal }) => signal.aborted)).toEqual([true, false])
  })

  it.each([
    ['value', 'late'],
    ['error', new Error('late')],
  ])('changes nothing by a late %s', async (_, outcome) => {
    const clock = fakeClock()
    const call = fate(
      guard({ clock, retry: false, timeout: { attempt: 100 } }).run(after(clock, 101, outcome)),
    )
    await clock.advance(500)
    expect(call.error).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
  })

  it('is not timed out when it ends just before its deadline', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { attempt: 100 } }).run(after(clock, 99.999, 'in time')))
    await clock.advance(500)
    expect(call.value).toBe('in time')
  })

  it('counts against the breaker', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 100 }, breaker: { failureThreshold: 1 } })
    fate(api.run(never))
    await clock.advance(100)
    expect(api.breaker?.state).toBe('open')
  })
})

describe('a call that takes too long', () => {
  it('ends with TOTAL_TIMEOUT at its deadline and not before', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, name: 'mail', timeout: { total: '3s' } }).run(never))
    await clock.advance(2999)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call.error).toMatchObject({
      code: 'TOTAL_TIMEOUT',
      message: expect.stringMatching(/mail.*3000 ms/),
    })
    expect(sessionOf(call.error)?.stopped).toBe('deadline')
  })

  it('has no cause where there was no earlier error', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { total: 100 } }).run(never))
    await clock.advance(100)
    expect('cause' in (call.error as Error)).toBe(false)
  })

  it('has the last earlier error as cause', async () => {
    const clock = fakeClock()
    const api = guard({ clock, timeout: { total: 1000 }, retry: { baseDelay: 10 } })
    const call = fate(
      api.run(({ number }) => (number < 3 ? Promise.reject(new Error(`down ${number}`)) : never())),
    )
    await clock.advance(1000)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT', cause: { message: 'down 2' } })
  })

  it('has the last earlier error as cause although an unwanted value came after it', async () => {
    const clock = fakeClock()
    const retryIf = ({ value }: { value?: unknown }) => value === 'meh'
    const api = guard({ clock, timeout: { total: 1000 }, retry: { backoffType: 'immediate', retryIf } })
    const error = new Error('down')
    const call = fate(
      api.run<unknown>(({ number }) =>
        number === 1 ? Promise.reject(error) : number === 2 ? 'meh' : never(),
      ),
    )
    await clock.advance(1000)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT', cause: error })
  })

  it('has a thrown undefined as cause', async () => {
    const clock = fakeClock()
    const api = guard({ clock, timeout: { total: 1000 }, retry: { baseDelay: 10, retryOn: [() => true] } })
    const call = fate(api.run(({ number }) => (number < 2 ? Promise.reject(undefined) : never())))
    await clock.advance(1000)
    expect('cause' in (call.error as Error)).toBe(true)
  })

  it('has its last attempt aborted, with the error as reason', async () => {
    const clock = fakeClock()
    const attempts: Attempt[] = []
    const call = fate(
      guard({ clock, timeout: { total: 100 } }).run((attempt) => {
        attempts.push(attempt)
        return never()
      }),
    )
    await clock.advance(100)
    expect(attempts[0]?.signal.reason).toBe(call.error)
  })

  it('is not retried, regardless of retryOn and retryIf', async () => {
    const clock = fakeClock()
    let calls = 0
    const api = guard({ clock, timeout: { total: 100 }, retry: { retryOn: [Error], retryIf: () => true } })
    fate(
      api.run(() => {
        calls++
        return never()
      }),
    )
    await clock.advance(60_000)
    expect(calls).toBe(1)
  })

  it('counts delays and every attempt', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      timeout: { attempt: 100, total: 240 },
      retry: { maxAttempts: 9, backoffType: 'fixed', baseDelay: 50 },
    })
    const call = fate(api.run(never))
    await clock.advance(239)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT', cause: { code: 'ATTEMPT_TIMEOUT' } })
    expect(sessionOf(call.error)?.attempts.map(({ duration }) => duration)).toEqual([100, 90])
  })

  it('ends with ATTEMPT_TIMEOUT where no time is left for another delay', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      timeout: { attempt: 100, total: 120 },
      retry: { backoffType: 'fixed', baseDelay: 50 },
    })
    const call = fate(api.run(never))
    await clock.advance(100)
    expect(call.error).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    expect(sessionOf(call.error)?.stopped).toBe('deadline')
  })
})

describe('a delay', () => {
  const failing = (wait: number, total: number) => {
    const clock = fakeClock()
    const error = new Error('down')
    const began: number[] = []
    const api = guard({ clock, timeout: { total }, retry: { backoffType: 'fixed', baseDelay: wait } })
    const call = fate(
      api.run(() => {
        began.push(clock.now())
        throw error
      }),
    )
    return { clock, error, call, began }
  }

  it.each([
    ['past', 101],
    ['just until', 100],
  ])('that would last %s the total deadline is not started: the call ends at once', async (_, wait) => {
    const { clock, error, call } = failing(wait, 100)
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error })
    expect(sessionOf(error)?.stopped).toBe('deadline')
  })

  it('that ends before the total deadline is kept', async () => {
    const { clock, began } = failing(99, 100)
    await clock.advance(200)
    expect(began).toEqual([0, 99])
  })

  it('is compared with the time left until the total deadline', async () => {
    const { clock, began, error } = failing(40, 100)
    await clock.advance(200)
    expect(began).toEqual([0, 40, 80])
    expect(sessionOf(error)?.stopped).toBe('attempts_spent')
  })

  it('does not count against an attempt’s deadline', async () => {
    const clock = fakeClock()
    const api = guard({ clock, timeout: { attempt: 50 }, retry: { backoffType: 'fixed', baseDelay: 200 } })
    const call = fate(api.run(({ number }) => (number < 3 ? Promise.reject(new Error('down')) : 'up')))
    await clock.advance(400)
    expect(call.value).toBe('up')
  })
})

describe('deadlines at the same time', () => {
  it('end the call: TOTAL_TIMEOUT takes precedence over ATTEMPT_TIMEOUT', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { attempt: 100, total: 100 } }).run(never))
    await clock.advance(100)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT' })
  })

  it('end the call in a later attempt too', async () => {
    const clock = fakeClock()
    const api = guard({
      clock,
      timeout: { attempt: 60, total: 100 },
      retry: { backoffType: 'fixed', baseDelay: 10 },
    })
    const call = fate(api.run(({ number }) => (number < 2 ? after(clock, 30, new Error('down'))() : never())))
    await clock.advance(100)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT', cause: { message: 'down' } })
  })

  it('of a total that is shorter than an attempt’s end the call', async () => {
    const clock = fakeClock()
    const call = fate(guard({ clock, timeout: { attempt: 500, total: 100 } }).run(never))
    await clock.advance(100)
    expect(call.error).toMatchObject({ code: 'TOTAL_TIMEOUT' })
  })

  it('of many calls end them in the order in which they began', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 100 } })
    const ended: number[] = []
    for (let i = 0; i < 50; i++) api.run(never).catch(() => ended.push(i))
    await clock.advance(100)
    expect(ended).toEqual(Array.from({ length: 50 }, (_, i) => i))
  })
})

describe('Infinity', () => {
  it('means no deadline', async () => {
    const clock = countingClock()
    const api = guard({
      clock,
      timeout: { attempt: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY },
    })
    const call = fate(api.run(never))
    await clock.advance(1e12)
    expect(call.state).toBe('pending')
    expect(clock.pending()).toBe(0)
  })

  it.each([
    ['attempt', 'TOTAL_TIMEOUT', { attempt: Number.POSITIVE_INFINITY, total: 100 }],
    ['total', 'ATTEMPT_TIMEOUT', { attempt: 100, total: Number.POSITIVE_INFINITY }],
  ])('for the %s keeps the other deadline', async (_, code, timeout) => {
    const clock = fakeClock()
    const call = fate(guard({ clock, retry: false, timeout }).run(never))
    await clock.advance(100)
    expect(call.error).toMatchObject({ code })
  })
})

describe('10,000 calls in flight', () => {
  it('expire in the order in which they began, each at its own time', async () => {
    const clock = fakeClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 1000 } })
    const expired: [call: number, at: number][] = []
    for (let burst = 0; burst < 100; burst++) {
      for (let i = 0; i < 100; i++) api.run(never).catch(() => expired.push([burst * 100 + i, clock.now()]))
      await clock.advance(3)
    }
    await clock.advance(2000)
    expect(expired).toEqual(Array.from({ length: 10_000 }, (_, i) => [i, Math.floor(i / 100) * 3 + 1000]))
  })

  it('that end out of order do not change the deadlines of others', async () => {
    const clock = countingClock()
    const api = guard({ clock, retry: false, timeout: { attempt: 1000, total: 1500 } })
    const fates = Array.from({ length: 10_000 }, (_, i) =>
      fate(api.run<unknown>(i % 3 === 0 ? never : after(clock, ((i * 7919) % 900) + 1, i))),
    )
    await clock.advance(2000)
    const wrong = fates.filter(({ value, error }, i) =>
      i % 3 === 0 ? (error as HoldfastError)?.code !== 'ATTEMPT_TIMEOUT' : value !== i,
    )
    expect(wrong).toEqual([])
    expect(clock.pending()).toBe(0)
  })
})

describe('timers', () => {
  const timeout = { attempt: '30s', total: '60s' } as const

  it('are cleared 5 ms after the last call ended', async () => {
    const clock = countingClock()
    const api = guard({ clock, timeout })
    await Promise.all(Array.from({ length: 100 }, () => api.run(async () => 'up')))
    await clock.advance(5)
    expect(clock.pending()).toBe(0)
  })

  it('are cleared at once when a long call ends', async () => {
    const clock = countingClock()
    const call = fate(guard({ clock, timeout }).run(after(clock, 10_000, 'up')))
    await clock.advance(10_000)
    expect(call.value).toBe('up')
    expect(clock.pending()).toBe(0)
  })

  it('are cleared when a call gave up after delays', async () => {
    const clock = countingClock()
    const call = fate(guard({ clock, timeout }).run(() => Promise.reject(errorWith({ code: 'ECONNRESET' }))))
    await clock.advance(3005)
    expect(call.state).toBe('rejected')
    expect(clock.pending()).toBe(0)
  })

  it('are cleared when a call is aborted', async () => {
    const clock = countingClock()
    const controller = new AbortController()
    fate(guard({ clock, timeout }).run(never, { signal: controller.signal }))
    await clock.advance(10)
    controller.abort()
    expect(clock.pending()).toBe(0)
  })

  it('are cleared when a call is aborted during a delay', async () => {
    const clock = countingClock()
    const controller = new AbortController()
    fate(
      guard({ clock, timeout }).run(() => Promise.reject(new Error('down')), { signal: controller.signal }),
    )
    await clock.advance(500)
    controller.abort()
    expect(clock.pending()).toBe(0)
  })

  it('are one for all running calls, not one for each', async () => {
    const clock = countingClock()
    const api = guard({ clock, timeout: { attempt: '30s' } })
    for (let i = 0; i < 1000; i++) fate(api.run(never))
    expect(clock.pending()).toBe(1)
    await clock.advance(5)
    expect(clock.pending()).toBe(1)
  })
})
