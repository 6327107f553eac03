// Each documented behaviour of cockatiel 3.2.1, with the original and with ours.
import * as Original from 'cockatiel'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as Ours from '../src/cockatiel/index.js'

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

class NetworkError extends Error {}
class HttpError extends Error {
  readonly status: number
  constructor(status: number) {
    super(`status ${status}`)
    this.status = status
  }
}

const failure = new NetworkError('down')
const fail = async (): Promise<never> => {
  throw failure
}
const sleep = (ms: number) => new Promise<string>((resolve) => setTimeout(resolve, ms, 'slept'))

/** Returns a function that throws each error, and returns each value, once; then it returns 'ok'. */
const scripted = (...steps: unknown[]) =>
  vi.fn(async () => {
    const step = steps.length > 0 ? steps.shift() : 'ok'
    if (step instanceof Error) throw step
    return step
  })

/** The value of a call, or its error. */
const outcome = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error)

/** Lets all timers run and returns the value of the call, or its error. */
async function settle(call: Promise<unknown>): Promise<unknown> {
  const settled = outcome(call)
  await vi.runAllTimersAsync()
  return settled
}

type Library = typeof Ours
type Listenable = Record<string, unknown>

/** Records the events of a policy with their data, without durations. */
function recordEvents(policy: object): unknown[] {
  const events: unknown[] = []
  for (const [name, event] of Object.entries(policy as Listenable))
    if (name.startsWith('on') && typeof event === 'function')
      (event as Ours.Event<unknown>)((data) => {
        const { duration, ...rest } = Object(data) as { duration?: number }
        if (duration !== undefined) expect(duration).toBeGreaterThanOrEqual(0)
        events.push(typeof data === 'object' ? [name, rest] : data === undefined ? [name] : [name, data])
      })
  return events
}

describe.each<[string, Library]>([
  ['cockatiel', Original as unknown as Library],
  ['@holdfast/compat/cockatiel', Ours],
])('%s', (_, lib) => {
  const { handleAll, handleType, handleWhen, handleResultType, handleWhenResult } = lib
  const { CircuitState, TimeoutStrategy, ConsecutiveBreaker } = lib

  it('exports these names', () => {
    expect(Object.keys(lib).toSorted()).toEqual(Object.keys(Original).toSorted())
  })

  describe('a policy', () => {
    const retriesOf = async (policy: Ours.Policy, ...steps: unknown[]) => {
      const fn = scripted(...steps)
      const result = await settle(lib.retry(policy, { maxAttempts: 9 }).execute(fn))
      return [fn.mock.calls.length - 1, result]
    }

    it('handleAll handles all errors and no result', async () => {
      expect(await retriesOf(handleAll, failure, new Error('other'), 5)).toEqual([2, 5])
    })

    it('handleType and orType handle classes, with a predicate', async () => {
      const policy = handleType(NetworkError).orType(HttpError, ({ status }) => status === 503)
      const notFound = new HttpError(404)
      expect(await retriesOf(policy, failure, new HttpError(503), notFound)).toEqual([2, notFound])
      expect(
        await retriesOf(
          handleType(HttpError, ({ status }) => status > 500),
          notFound,
        ),
      ).toEqual([0, notFound])
    })

    it('handleWhen and orWhen handle errors by a predicate', async () => {
      const policy = handleWhen((error) => error === failure).orWhen(({ message }) => message === 'again')
      const other = new Error('other')
      expect(await retriesOf(policy, failure, new Error('again'), other)).toEqual([2, other])
    })

    it('handleResultType and orResultType handle results by class', async () => {
      const policy = handleResultType(NetworkError).orResultType(HttpError, ({ status }) => status === 503)
      const values = [new Date(0), new Map()]
      expect(await retriesOf(handleResultType(Date).orResultType(Map), ...values)).toEqual([2, 'ok'])
      expect(await retriesOf(policy, 'value')).toEqual([0, 'value'])
    })

    it('handleWhenResult and orWhenResult handle results by a predicate', async () => {
      const policy = handleWhenResult((r) => r === 503).orWhenResult((r) => r === 429)
      expect(await retriesOf(policy, 503, 429, 404)).toEqual([2, 404])
      expect(await retriesOf(policy, failure)).toEqual([0, failure])
    })

    it('is immutable', async () => {
      const policy = handleType(HttpError)
      policy.orWhen(() => true)
      expect(await retriesOf(policy, failure)).toEqual([0, failure])
      expect(policy).toBeInstanceOf(lib.Policy)
    })

    it('combines errors and results', async () => {
      const policy = handleType(NetworkError).orWhenResult((r) => r === 503)
      expect(await retriesOf(policy, failure, 503)).toEqual([2, 'ok'])
    })
  })

  describe('delays', () => {
    /** The first delays of a backoff. */
    const durations = (factory: Ours.IBackoffFactory<unknown>, count: number) => {
      const list: number[] = []
      let backoff = factory.next(undefined)
      for (let i = 0; i < count; i++) {
        list.push(backoff.duration)
        backoff = backoff.next(undefined)
      }
      return list
    }

    it('ConstantBackoff has one delay', () => {
      expect(durations(new lib.ConstantBackoff(50), 3)).toEqual([50, 50, 50])
    })

    it('IterableBackoff repeats its last delay', () => {
      expect(durations(new lib.IterableBackoff([100, 200, 500]), 5)).toEqual([100, 200, 500, 500, 500])
      expect(durations(new lib.IterableBackoff([]), 2)).toEqual([undefined, undefined])
    })

    it('ExponentialBackoff doubles up to its maximum', () => {
      const backoff = new lib.ExponentialBackoff({ generator: lib.noJitterGenerator })
      expect(durations(backoff, 10)).toEqual([128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 30_000, 30_000])
      const small = { generator: lib.noJitterGenerator, maxDelay: 10, initialDelay: 4 }
      expect(durations(new lib.ExponentialBackoff(small), 3)).toEqual([4, 8, 10])
    })

    it('the generators compute these delays from random numbers', () => {
      const random = vi.spyOn(Math, 'random')
      const delaysOf = (value: number, options: Partial<Ours.IExponentialBackoffOptions<never>> = {}) => {
        random.mockReturnValue(value)
        return durations(new lib.ExponentialBackoff(options), 8).map((delay) => Math.round(delay * 1000))
      }
      expect(delaysOf(0.5)).toEqual([
        114_868, 139_904, 260_576, 517_885, 1_034_705, 2_068_949, 4_137_666, 8_275_207,
      ])
      expect(delaysOf(0)[0]).toBe(0)
      expect(delaysOf(0.5, { exponent: 3, initialDelay: 10, maxDelay: 200 })).toEqual([
        10_991, 25_575, 74_382, 200_000, 200_000, 200_000, 200_000, 200_000,
      ])
      const generator = lib.fullJitterGenerator as never
      expect(delaysOf(0.3, { generator })).toEqual(
        [38, 76, 153, 307, 614, 1228, 2457, 4915].map((ms) => ms * 1000),
      )
      expect(delaysOf(0.3, { generator: lib.halfJitterGenerator as never })).toEqual(
        [83, 166, 332, 665, 1331, 2662, 5324, 10_649].map((ms) => ms * 1000),
      )
    })

    it('decorrelated jitter stays finite for thousands of delays', () => {
      const options = { maxDelay: 900_000, initialDelay: 45_000 }
      for (const delay of durations(new lib.ExponentialBackoff(options), 3000)) {
        expect(delay).toBeGreaterThanOrEqual(0)
        expect(delay).toBeLessThanOrEqual(900_000)
      }
    })

    it('DelegateBackoff gets the context and its own state', () => {
      expect(new lib.DelegateBackoff((n: number) => n * 2).next(4).duration).toBe(8)
      const squares = new lib.DelegateBackoff((_context: unknown, state: number = 3) => ({
        delay: state * state,
        state: state * state,
      }))
      expect(durations(squares, 3)).toEqual([9, 81, 6561])
      let isFirst = true
      const kept = new lib.DelegateBackoff((_context: unknown, state?: string) => {
        if (!isFirst) return state === 'kept' ? 2 : -1
        isFirst = false
        return { delay: 1, state: 'kept' }
      })
      expect(durations(kept, 3)).toEqual([1, 2, 2])
    })
  })

  describe('retry', () => {
    it('calls the function with the number of the retry and a signal', async () => {
      const contexts: object[] = []
      const policy = lib.retry(handleAll, { maxAttempts: 2 })
      const call = policy.execute((context) => {
        contexts.push(context)
        if (context.attempt < 2) throw failure
        return 'value'
      })
      expect(contexts).toHaveLength(1) // the first attempt starts before execute returns
      expect(await settle(call)).toBe('value')
      expect(contexts).toEqual([0, 1, 2].map((attempt) => ({ attempt, signal: expect.any(AbortSignal) })))
    })

    it('retries without a limit by default', async () => {
      const fn = scripted(...Array(500).fill(failure))
      expect(await settle(lib.retry(handleAll, {}).execute(fn))).toBe('ok')
    })

    it.each([0, 1, 3])(
      'with maxAttempts %i rejects with the last error, or returns the last result',
      async (n) => {
        const fn = vi.fn(fail)
        expect(await settle(lib.retry(handleAll, { maxAttempts: n }).execute(fn))).toBe(failure)
        expect(fn).toHaveBeenCalledTimes(n + 1)
        const bad = vi.fn(() => 503)
        const policy = lib.retry(
          handleWhenResult((r) => r === 503),
          { maxAttempts: n },
        )
        expect(await settle(policy.execute(bad))).toBe(503)
        expect(bad).toHaveBeenCalledTimes(n + 1)
      },
    )

    it('waits for the delays of the backoff', async () => {
      const times: number[] = []
      const backoff = new lib.IterableBackoff([100, 200, 500])
      const call = lib.retry(handleAll, { maxAttempts: 4, backoff }).execute(() => {
        times.push(Date.now())
        throw failure
      })
      await settle(call)
      expect(times).toEqual([0, 100, 300, 800, 1300])
    })

    it('starts a timer also for a delay of 0', async () => {
      const fn = scripted(failure)
      const call = lib.retry(handleAll, {}).execute(fn)
      await vi.advanceTimersByTimeAsync(0)
      expect(await call).toBe('ok')
      const blocked = scripted(failure)
      void lib.retry(handleAll, {}).execute(blocked)
      for (let i = 0; i < 100; i++) await Promise.resolve()
      expect(blocked).toHaveBeenCalledTimes(1)
    })

    it('passes the failure to the backoff', async () => {
      const contexts: unknown[] = []
      const backoff = new lib.DelegateBackoff((context: Ours.IRetryBackoffContext<unknown>) => {
        contexts.push(context)
        return 1
      })
      const policy = handleAll.orWhenResult((r) => r === 503)
      await settle(lib.retry(policy, { maxAttempts: 5, backoff }).execute(scripted(failure, 503)))
      expect(contexts).toEqual([
        { attempt: 1, signal: expect.any(AbortSignal), result: { error: failure } },
        { attempt: 2, signal: expect.any(AbortSignal), result: { value: 503 } },
      ])
    })

    it('rejects with an error that the backoff throws', async () => {
      const backoff = new lib.DelegateBackoff(() => {
        throw new Error('no more')
      })
      expect(await settle(lib.retry(handleAll, { backoff }).execute(fail))).toEqual(new Error('no more'))
    })

    it('emits onRetry, onGiveUp, onSuccess and onFailure', async () => {
      const backoff = new lib.IterableBackoff([10, 20])
      const policy = lib.retry(
        handleType(NetworkError).orWhenResult((r) => r === 503),
        { maxAttempts: 2, backoff },
      )
      const events = recordEvents(policy)
      await settle(policy.execute(scripted(failure, 503)))
      expect(events.splice(0)).toEqual([
        ['onFailure', { handled: true, reason: { error: failure } }],
        ['onRetry', { error: failure, delay: 10, attempt: 1 }],
        ['onFailure', { handled: true, reason: { value: 503 } }],
        ['onRetry', { value: 503, delay: 20, attempt: 2 }],
        ['onSuccess', {}],
      ])
      await settle(policy.execute(scripted(failure, failure, 503)))
      expect(events.splice(0).at(-1)).toEqual(['onGiveUp', { value: 503 }])
      const other = new Error('other')
      await settle(policy.execute(scripted(other)))
      expect(events).toEqual([['onFailure', { handled: false, reason: { error: other } }]])
    })

    it('starts the timer of a delay before onRetry', async () => {
      const fn = scripted(failure, failure)
      const policy = lib.retry(handleAll, { backoff: new lib.ConstantBackoff(50) })
      policy.onRetry(({ delay }) => void vi.advanceTimersByTime(delay))
      expect(await policy.execute(fn)).toBe('ok')
      expect(fn).toHaveBeenCalledTimes(3)
    })

    it('rejects with an error that a listener of onRetry throws', async () => {
      const fn = vi.fn(fail)
      const policy = lib.retry(handleAll, { backoff: new lib.ConstantBackoff(50) })
      policy.onRetry(() => {
        throw new Error('listener')
      })
      expect(await outcome(policy.execute(fn))).toEqual(new Error('listener'))
      expect(fn).toHaveBeenCalledTimes(1)
    })

    it('stops when the signal is aborted during an attempt, with the error of the attempt', async () => {
      const controller = new AbortController()
      const policy = lib.retry(handleAll, {})
      const events = recordEvents(policy)
      const call = policy.execute(({ signal }) => {
        expect(signal).toBe(controller.signal)
        controller.abort()
        throw failure
      }, controller.signal)
      expect(await settle(call)).toBe(failure)
      expect(events.at(-1)).toEqual(['onGiveUp', { error: failure }])
    })

    it('makes one more attempt after an abort during a delay', async () => {
      const controller = new AbortController()
      const fn = vi.fn(fail)
      const policy = lib.retry(handleAll, { backoff: new lib.ConstantBackoff(50) })
      const call = outcome(policy.execute(fn, controller.signal))
      await vi.advanceTimersByTimeAsync(10)
      controller.abort()
      await vi.advanceTimersByTimeAsync(10)
      expect(fn).toHaveBeenCalledTimes(1)
      await vi.advanceTimersByTimeAsync(30)
      expect(await call).toBe(failure)
      expect(fn).toHaveBeenCalledTimes(2)
    })

    it('dangerouslyUnref returns another policy without the listeners', async () => {
      const policy = lib.retry(handleAll, { maxAttempts: 1 })
      const events = recordEvents(policy)
      const unref = policy.dangerouslyUnref()
      expect(unref).toBeInstanceOf(lib.RetryPolicy)
      expect(unref).not.toBe(policy)
      expect(await settle(unref.execute(scripted(failure)))).toBe('ok')
      expect(events).toEqual([])
    })

    it.each([false, true])('a delay lets the process exit if unref: %s', async (isUnref) => {
      vi.useRealTimers()
      const unref = vi.fn()
      vi.spyOn(globalThis, 'setTimeout').mockImplementation(((fn: () => void) => {
        queueMicrotask(fn)
        return { unref }
      }) as never)
      const policy = lib.retry(handleAll, {})
      await (isUnref ? policy.dangerouslyUnref() : policy).execute(scripted(failure))
      expect(unref).toHaveBeenCalledTimes(isUnref ? 1 : 0)
    })
  })

  describe('breakers', () => {
    const { CountBreaker, SamplingBreaker } = lib
    const closed = CircuitState.Closed

    it('ConsecutiveBreaker opens after failures in a row', () => {
      const breaker = new ConsecutiveBreaker(3)
      expect([breaker.failure(), breaker.failure()]).toEqual([false, false])
      breaker.success()
      expect([1, 2, 3, 4].map(() => breaker.failure())).toEqual([false, false, true, true])
      expect(breaker.state).toBe(4)
    })

    it('CountBreaker opens above its threshold of the last calls', () => {
      const breaker = new CountBreaker({ threshold: 0.5, size: 4 })
      breaker.success(closed)
      breaker.success(closed)
      expect([1, 2, 3].map(() => breaker.failure(closed))).toEqual([false, false, true])
      expect(breaker.failure(CircuitState.HalfOpen)).toBe(true)
      breaker.success(CircuitState.HalfOpen)
      expect([1, 2, 3].map(() => breaker.failure(closed))).toEqual([false, false, true])
      const early = new CountBreaker({ threshold: 0.2, size: 100, minimumNumberOfCalls: 2 })
      expect([1, 2].map(() => early.failure(closed))).toEqual([false, true])
    })

    it('CountBreaker rejects options out of range', () => {
      const options: [object, string][] = [
        [{ threshold: 0, size: 5 }, 'CountBreaker threshold should be between (0, 1), got 0'],
        [{ threshold: 1, size: 5 }, 'CountBreaker threshold should be between (0, 1), got 1'],
        [{ threshold: 0.5, size: 0.5 }, 'CountBreaker size should be a positive integer, got 0.5'],
        [
          { threshold: 0.5, size: 5, minimumNumberOfCalls: 6 },
          'CountBreaker size should be an integer between (1, size), got 6',
        ],
      ]
      for (const [option, message] of options)
        expect(() => new CountBreaker(option as never)).toThrow(new RangeError(message))
    })

    it('SamplingBreaker opens above its threshold of the calls in a window of time', () => {
      const breaker = new SamplingBreaker({ threshold: 0.5, duration: 5000, minimumRps: 3 })
      for (let i = 0; i < 10; i++) {
        expect(breaker.failure(closed)).toBe(false) // two calls per second
        vi.advanceTimersByTime(500)
      }
      for (let i = 0; i < 7; i++) breaker.success(closed)
      expect(breaker.failure(closed)).toBe(true)
      vi.advanceTimersByTime(1000)
      breaker.success(CircuitState.HalfOpen)
      expect(breaker.failure(closed)).toBe(false)
    })

    it('SamplingBreaker needs five failures per second by default', () => {
      const breaker = new SamplingBreaker({ threshold: 0.2, duration: 1000 })
      const results = Array.from({ length: 25 }, () => breaker.failure(closed))
      expect(results.indexOf(true)).toBe(24)
      expect(() => new SamplingBreaker({ threshold: 1, duration: 1 })).toThrow(
        new RangeError('SamplingBreaker threshold should be between (0, 1), got 1'),
      )
    })

    it('the states of breakers are plain data that restores them', () => {
      const options = { threshold: 0.5, size: 3, duration: 5000, minimumRps: 3 }
      const create = (): Ours.IBreaker[] => [
        new ConsecutiveBreaker(9),
        new CountBreaker(options),
        new SamplingBreaker(options),
      ]
      const breakers = create()
      for (const breaker of breakers) {
        breaker.failure(closed)
        vi.advanceTimersByTime(1500)
        breaker.success(closed)
        breaker.failure(closed)
      }
      const states = JSON.parse(JSON.stringify(breakers.map(({ state }) => state)))
      expect(states).toEqual([
        1,
        { samples: [false, true, false], currentSample: 0, failures: 2, successes: 1 },
        {
          windows: [
            { startedAt: 0, failures: 0, successes: 0 },
            { startedAt: 3000, failures: 1, successes: 0 },
            { startedAt: 4500, failures: 1, successes: 1 },
            { startedAt: 0, failures: 0, successes: 0 },
            { startedAt: 0, failures: 0, successes: 0 },
          ],
          currentWindow: 2,
          currentFailures: 2,
          currentSuccesses: 1,
        },
      ])
      const restored = create()
      for (const [index, breaker] of restored.entries()) breaker.state = states[index]
      expect(restored.map(({ state }) => state)).toEqual(states)
    })
  })

  describe('circuitBreaker', () => {
    const create = (options: Partial<Ours.ICircuitBreakerOptions> = {}, policy = handleType(NetworkError)) =>
      lib.circuitBreaker(policy, { halfOpenAfter: 1000, breaker: new ConsecutiveBreaker(2), ...options })

    const open = async (breaker: Ours.CircuitBreakerPolicy) => {
      for (let i = 0; i < 2; i++) expect(await outcome(breaker.execute(fail))).toBe(failure)
    }

    it('opens after the failures of its breaker, and rejects calls', async () => {
      const breaker = create()
      const events = recordEvents(breaker)
      expect(await breaker.execute(() => 42)).toBe(42)
      expect(breaker.lastFailure).toBe(undefined)
      await open(breaker)
      expect(breaker.state).toBe(CircuitState.Open)
      expect(breaker.lastFailure).toEqual({ error: failure })
      const fn = vi.fn()
      const error = (await outcome(breaker.execute(fn))) as Error
      expect(error).toBeInstanceOf(lib.BrokenCircuitError)
      expect(error.message).toBe('Execution prevented because the circuit breaker is open')
      expect(fn).not.toHaveBeenCalled()
      expect(events).toEqual([
        ['onSuccess', {}],
        ['onFailure', { handled: true, reason: { error: failure } }],
        ['onFailure', { handled: true, reason: { error: failure } }],
        ['onBreak', { error: failure }],
        ['onStateChange', CircuitState.Open],
      ])
    })

    it('counts results that its policy handles, and returns them', async () => {
      const breaker = create(
        {},
        handleWhenResult((r) => r === 503),
      )
      expect([await breaker.execute(() => 503), await breaker.execute(() => 503)]).toEqual([503, 503])
      expect(breaker.state).toBe(CircuitState.Open)
      expect(breaker.lastFailure).toEqual({ value: 503 })
    })

    it('does not count errors that its policy does not handle', async () => {
      const breaker = create()
      for (let i = 0; i < 5; i++) await outcome(breaker.execute(() => Promise.reject(new Error('other'))))
      expect(breaker.state).toBe(CircuitState.Closed)
    })

    it('closes after a test call that succeeds', async () => {
      const breaker = create()
      await open(breaker)
      vi.advanceTimersByTime(999)
      expect(await outcome(breaker.execute(() => 1))).toBeInstanceOf(lib.BrokenCircuitError)
      vi.advanceTimersByTime(1)
      expect(breaker.state).toBe(CircuitState.Open)
      const events = recordEvents(breaker)
      const call = breaker.execute(async () => 42)
      expect(breaker.state).toBe(CircuitState.HalfOpen)
      expect(await call).toBe(42)
      expect(breaker.state).toBe(CircuitState.Closed)
      expect(events).toEqual([
        ['onHalfOpen'],
        ['onStateChange', CircuitState.HalfOpen],
        ['onSuccess', {}],
        ['onReset'],
        ['onStateChange', CircuitState.Closed],
      ])
    })

    it('opens again after a test call that fails', async () => {
      const breaker = create()
      await open(breaker)
      vi.advanceTimersByTime(1000)
      const events = recordEvents(breaker)
      expect(await outcome(breaker.execute(fail))).toBe(failure)
      expect(breaker.state).toBe(CircuitState.Open)
      expect(events.slice(-2)).toEqual([
        ['onBreak', { error: failure }],
        ['onStateChange', CircuitState.Open],
      ])
      vi.advanceTimersByTime(999)
      expect(await outcome(breaker.execute(() => 1))).toBeInstanceOf(lib.BrokenCircuitError)
    })

    it('closes after a test call with an error that its policy does not handle', async () => {
      const breaker = create()
      await open(breaker)
      vi.advanceTimersByTime(1000)
      const other = new Error('other')
      expect(await outcome(breaker.execute(() => Promise.reject(other)))).toBe(other)
      expect(breaker.state).toBe(CircuitState.Closed)
    })

    it('lets calls wait for the test call', async () => {
      const breaker = create()
      await open(breaker)
      vi.advanceTimersByTime(1000)
      const order: string[] = []
      const calls = ['test', 'a', 'b'].map((name) =>
        breaker.execute(async () => {
          order.push(name)
          await sleep(10)
          order.push(`${name} ended`)
          return name
        }),
      )
      await vi.advanceTimersByTimeAsync(20)
      expect(await Promise.all(calls)).toEqual(['test', 'a', 'b'])
      expect(order.slice(0, 2)).toEqual(['test', 'test ended'])
    })

    it('rejects the calls that wait when the test call fails', async () => {
      const breaker = create()
      await open(breaker)
      vi.advanceTimersByTime(1000)
      const test = outcome(breaker.execute(() => sleep(10).then(fail)))
      const waiting = outcome(breaker.execute(() => 1))
      await vi.advanceTimersByTimeAsync(10)
      expect(await test).toBe(failure)
      expect(await waiting).toBeInstanceOf(lib.BrokenCircuitError)
    })

    it('rejects a waiting call with an aborted signal when the test call succeeds', async () => {
      const breaker = create()
      await open(breaker)
      vi.advanceTimersByTime(1000)
      void breaker.execute(async () => 1)
      const fn = vi.fn()
      const error = (await outcome(breaker.execute(fn, AbortSignal.abort()))) as Error
      expect(error).toBeInstanceOf(lib.TaskCancelledError)
      expect(error.message).toBe('Operation cancelled')
      expect(fn).not.toHaveBeenCalled()
    })

    it('opens for the times of a backoff, which starts again after the circuit closed', async () => {
      const contexts: unknown[] = []
      const halfOpenAfter = new lib.DelegateBackoff((context: Ours.IHalfOpenAfterBackoffContext) => {
        contexts.push([context.attempt, context.result])
        return context.attempt * 1000
      })
      const breaker = create({ halfOpenAfter })
      await open(breaker)
      vi.advanceTimersByTime(1000)
      await outcome(breaker.execute(fail))
      vi.advanceTimersByTime(1999)
      expect(await outcome(breaker.execute(() => 1))).toBeInstanceOf(lib.BrokenCircuitError)
      vi.advanceTimersByTime(1)
      expect(await breaker.execute(() => 1)).toBe(1)
      await open(breaker)
      expect(contexts).toEqual([1, 2, 1].map((attempt) => [attempt, { error: failure }]))
    })

    it('passes the signal to the function', async () => {
      const { signal } = new AbortController()
      const breaker = create()
      expect(await breaker.execute((context) => context.signal, signal)).toBe(signal)
      expect(await breaker.execute((context) => context.signal)).toBeInstanceOf(AbortSignal)
    })

    it('isolate holds the circuit open until all handles are disposed', async () => {
      const breaker = create()
      const events = recordEvents(breaker)
      const first = breaker.isolate()
      const second = breaker.isolate()
      expect(breaker.state).toBe(CircuitState.Isolated)
      const error = await outcome(breaker.execute(() => 1))
      expect(error).toBeInstanceOf(lib.IsolatedCircuitError)
      expect(error).toBeInstanceOf(lib.BrokenCircuitError)
      vi.advanceTimersByTime(1_000_000)
      expect(await outcome(breaker.execute(() => 1))).toBeInstanceOf(lib.IsolatedCircuitError)
      first.dispose()
      first.dispose()
      expect(breaker.state).toBe(CircuitState.Isolated)
      second.dispose()
      expect(breaker.state).toBe(CircuitState.Closed)
      expect(await breaker.execute(() => 1)).toBe(1)
      expect(events.slice(0, 4)).toEqual([
        ['onBreak', { isolated: true }],
        ['onStateChange', CircuitState.Isolated],
        ['onReset'],
        ['onStateChange', CircuitState.Closed],
      ])
    })

    it('isolate closes a circuit that was open', async () => {
      const breaker = create()
      await open(breaker)
      breaker.isolate().dispose()
      expect(breaker.state).toBe(CircuitState.Closed)
    })

    it('isolate during a test call: the result of the test does not change the state', async () => {
      for (const work of [() => sleep(10), () => sleep(10).then(fail)]) {
        const breaker = create()
        await open(breaker)
        vi.advanceTimersByTime(1000)
        const test = outcome(breaker.execute(work))
        const handle = breaker.isolate()
        await vi.advanceTimersByTimeAsync(10)
        await test
        expect(breaker.state).toBe(CircuitState.Isolated)
        handle.dispose()
        expect(breaker.state).toBe(CircuitState.Closed)
      }
    })

    it('toJSON and initialState carry the state of each kind over', async () => {
      vi.setSystemTime(5000)
      const restore = (breaker: Ours.CircuitBreakerPolicy) =>
        create({ initialState: JSON.parse(JSON.stringify(breaker.toJSON())) })
      const closed = create()
      await outcome(closed.execute(fail))
      expect(closed.toJSON()).toEqual({ ownState: { value: CircuitState.Closed }, breakerState: 1 })
      const again = restore(closed)
      await outcome(again.execute(fail))
      expect(again.state).toBe(CircuitState.Open)

      expect(again.toJSON()).toEqual({
        ownState: { value: CircuitState.Open, openedAt: 5000, attemptNo: 1 },
        breakerState: 2,
      })
      vi.advanceTimersByTime(999)
      const opened = restore(again)
      expect(opened.state).toBe(CircuitState.Open)
      expect((opened.lastFailure as { error: Error }).error).toBeInstanceOf(lib.HydratingCircuitError)
      expect(await outcome(opened.execute(() => 1))).toBeInstanceOf(lib.BrokenCircuitError)
      vi.advanceTimersByTime(1)

      const test = outcome(opened.execute(() => sleep(10)))
      expect(opened.toJSON()).toEqual({
        ownState: { value: CircuitState.Open, openedAt: 0, attemptNo: 2 },
        breakerState: 2,
      })
      const halfOpen = restore(opened)
      expect(halfOpen.state).toBe(CircuitState.Open)
      expect(await halfOpen.execute(() => 1)).toBe(1)
      expect(halfOpen.state).toBe(CircuitState.Closed)
      await settle(test)

      const isolated = create()
      isolated.isolate()
      expect(isolated.toJSON()).toEqual({
        ownState: { value: CircuitState.Isolated, counters: 1 },
        breakerState: 0,
      })
      expect(restore(isolated).state).toBe(CircuitState.Isolated)
    })

    it('restores the place in the backoff of an open circuit', async () => {
      const attempts: number[] = []
      const halfOpenAfter = new lib.DelegateBackoff(({ attempt }: Ours.IHalfOpenAfterBackoffContext) => {
        attempts.push(attempt)
        return attempt * 100
      })
      const initialState = {
        ownState: { value: CircuitState.Open, openedAt: 0, attemptNo: 3 },
        breakerState: 2,
      }
      const breaker = create({ halfOpenAfter, initialState })
      expect(attempts).toEqual([1, 2, 3])
      vi.advanceTimersByTime(299)
      expect(await outcome(breaker.execute(() => 1))).toBeInstanceOf(lib.BrokenCircuitError)
      vi.advanceTimersByTime(1)
      expect(await breaker.execute(() => 1)).toBe(1)
    })

    it('CircuitState has numbers and names', () => {
      expect(CircuitState).toEqual({
        Closed: 0,
        Open: 1,
        HalfOpen: 2,
        Isolated: 3,
        0: 'Closed',
        1: 'Open',
        2: 'HalfOpen',
        3: 'Isolated',
      })
    })
  })

  describe('timeout', () => {
    it('returns the result of a function that is fast enough', async () => {
      for (const strategy of Object.values(TimeoutStrategy)) {
        const policy = lib.timeout(1000, strategy)
        const events = recordEvents(policy)
        expect(await policy.execute(() => 42)).toBe(42)
        await vi.advanceTimersByTimeAsync(2000)
        expect(events).toEqual([['onSuccess', {}]])
        expect(vi.getTimerCount()).toBe(0)
      }
    })

    it('cooperative: aborts the signal and waits for the function', async () => {
      const policy = lib.timeout(10, TimeoutStrategy.Cooperative)
      const events = recordEvents(policy)
      let wasAborted: boolean[] = []
      const call = policy.execute(async ({ signal }, second) => {
        expect(second).toBe(signal)
        wasAborted = [signal.aborted]
        await sleep(20)
        wasAborted.push(signal.aborted)
        return 42
      })
      await vi.advanceTimersByTimeAsync(10)
      expect(events).toEqual([['onTimeout']])
      await vi.advanceTimersByTimeAsync(10)
      expect(await call).toBe(42)
      expect(wasAborted).toEqual([false, true])
      expect(events).toEqual([['onTimeout'], ['onSuccess', {}]])
    })

    it('aggressive: aborts the signal and rejects', async () => {
      const policy = lib.timeout(10, TimeoutStrategy.Aggressive)
      const events = recordEvents(policy)
      let signal: AbortSignal | undefined
      const call = outcome(
        policy.execute((context) => {
          signal = context.signal
          return new Promise(() => {})
        }),
      )
      await vi.advanceTimersByTimeAsync(9)
      expect(signal?.aborted).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      const error = (await call) as Error
      expect(error).toBeInstanceOf(lib.TaskCancelledError)
      expect(error.message).toBe('Operation timed out after 10ms')
      expect(signal?.aborted).toBe(true)
      expect(signal?.reason).toMatchObject({ name: 'AbortError' })
      expect(events).toEqual([['onTimeout'], ['onFailure', { handled: false, reason: { error } }]])
    })

    it('rejects with the error of the function', async () => {
      for (const strategy of Object.values(TimeoutStrategy)) {
        const policy = lib.timeout(10, strategy)
        const events = recordEvents(policy)
        const throwing = () => {
          throw failure
        }
        expect(await outcome(policy.execute(throwing))).toBe(failure)
        expect(events).toEqual([['onFailure', { handled: false, reason: { error: failure } }]])
      }
    })

    it('propagates an abort of the caller, which counts as a timeout', async () => {
      for (const strategy of Object.values(TimeoutStrategy)) {
        const controller = new AbortController()
        const policy = lib.timeout(1000, strategy)
        const events = recordEvents(policy)
        const call = outcome(
          policy.execute(async ({ signal }) => {
            await sleep(10)
            return signal.aborted
          }, controller.signal),
        )
        controller.abort()
        await vi.advanceTimersByTimeAsync(10)
        expect(events[0]).toEqual(['onTimeout'])
        if (strategy === TimeoutStrategy.Cooperative) expect(await call).toBe(true)
        else expect(await call).toBeInstanceOf(lib.TaskCancelledError)
      }
    })

    it('calls the function also with a signal that is aborted', async () => {
      for (const strategy of Object.values(TimeoutStrategy)) {
        const policy = lib.timeout(1000, strategy)
        const fn = ({ signal }: { signal: AbortSignal }) => signal.aborted
        expect(await policy.execute(fn, AbortSignal.abort())).toBe(true)
      }
    })

    it.each([
      [undefined, true],
      [true, true],
      [false, false],
    ])(
      'with abortOnReturn %s, the signal is aborted after the function: %s',
      async (abortOnReturn, aborted) => {
        for (const strategy of Object.values(TimeoutStrategy)) {
          const options = abortOnReturn === undefined ? strategy : { strategy, abortOnReturn }
          const signal = await lib.timeout(10, options).execute((context) => context.signal)
          expect(signal.aborted).toBe(aborted)
        }
      },
    )

    it('dangerouslyUnref returns another policy with the same listeners', async () => {
      const policy = lib.timeout(10, TimeoutStrategy.Aggressive)
      const events = recordEvents(policy)
      const unref = policy.dangerouslyUnref()
      expect(unref).toBeInstanceOf(lib.TimeoutPolicy)
      await unref.execute(() => 1)
      expect(events).toEqual([['onSuccess', {}]])
    })

    it.each([false, true])('the timer lets the process exit if unref: %s', async (isUnref) => {
      vi.useRealTimers()
      const unref = vi.fn()
      vi.spyOn(globalThis, 'setTimeout').mockReturnValue({ unref } as never)
      const policy = lib.timeout(10, TimeoutStrategy.Aggressive)
      await (isUnref ? policy.dangerouslyUnref() : policy).execute(() => 1)
      expect(unref).toHaveBeenCalledTimes(isUnref ? 1 : 0)
    })

    it('TimeoutStrategy has these values', () => {
      expect(TimeoutStrategy).toEqual({ Cooperative: 'optimistic', Aggressive: 'aggressive' })
    })
  })

  describe('bulkhead', () => {
    it('rejects calls above its limit', async () => {
      const policy = lib.bulkhead(2)
      const onReject = vi.fn()
      policy.onReject(onReject)
      const calls = [policy.execute(() => sleep(10)), policy.execute(() => sleep(10))]
      expect(policy.executionSlots).toBe(0)
      const error = (await outcome(policy.execute(() => 1))) as Error
      expect(error).toBeInstanceOf(lib.BulkheadRejectedError)
      expect(error.message).toBe('Bulkhead capacity exceeded (0/2 execution slots, 0/0 available)')
      expect(onReject).toHaveBeenCalledTimes(1)
      await vi.advanceTimersByTimeAsync(10)
      expect(await Promise.all(calls)).toEqual(['slept', 'slept'])
      expect(await policy.execute(() => 1)).toBe(1)
    })

    it('queues calls and shows its free slots', async () => {
      const policy = lib.bulkhead(1, 2)
      const slots = () => [policy.executionSlots, policy.queueSlots]
      const order: number[] = []
      expect(slots()).toEqual([1, 2])
      const calls = [1, 2, 3].map((n) =>
        policy.execute(async () => {
          order.push(n)
          await sleep(10)
          return n
        }),
      )
      expect(slots()).toEqual([0, 0])
      expect(await outcome(policy.execute(() => 4))).toBeInstanceOf(lib.BulkheadRejectedError)
      await vi.advanceTimersByTimeAsync(10)
      expect(slots()).toEqual([0, 1])
      await vi.advanceTimersByTimeAsync(10)
      expect(slots()).toEqual([0, 2])
      await vi.advanceTimersByTimeAsync(10)
      expect(slots()).toEqual([1, 2])
      expect(await Promise.all(calls)).toEqual([1, 2, 3])
      expect(order).toEqual([1, 2, 3])
    })

    it('releases the slot of a function that throws', async () => {
      const policy = lib.bulkhead(1)
      expect(await outcome(policy.execute(fail))).toBe(failure)
      expect(policy.executionSlots).toBe(1)
    })

    it('checks the signal at the start and when a slot is free', async () => {
      const policy = lib.bulkhead(1, 5)
      const fn = vi.fn()
      expect(await outcome(policy.execute(fn, AbortSignal.abort()))).toBeInstanceOf(lib.TaskCancelledError)
      const controller = new AbortController()
      const { signal } = controller
      const first = policy.execute(async (context) => {
        expect(context.signal).toBe(signal)
        await sleep(10)
      }, signal)
      const queued = outcome(policy.execute(fn, signal))
      controller.abort()
      await vi.advanceTimersByTimeAsync(10)
      await first
      expect(await queued).toBeInstanceOf(lib.TaskCancelledError)
      expect(fn).not.toHaveBeenCalled()
      expect(policy.executionSlots).toBe(1)
    })
  })

  describe('fallback', () => {
    it('replaces handled errors and results by a value, or by the result of a function', async () => {
      const policy = handleType(NetworkError).orWhenResult((r) => r === 503)
      expect(await lib.fallback(policy, 'stale').execute(fail)).toBe('stale')
      expect(await lib.fallback(policy, () => 'stale').execute(() => 503)).toBe('stale')
      expect(await lib.fallback(policy, async () => 'stale').execute(fail)).toBe('stale')
      expect(await lib.fallback(policy, 'stale').execute(() => 'fresh')).toBe('fresh')
      const other = new Error('other')
      expect(await outcome(lib.fallback(policy, 'stale').execute(() => Promise.reject(other)))).toBe(other)
    })

    it('emits onSuccess and onFailure, and passes the signal', async () => {
      const policy = lib.fallback(handleType(NetworkError), 'stale')
      const events = recordEvents(policy)
      const { signal } = new AbortController()
      expect(await policy.execute((context) => context.signal, signal)).toBe(signal)
      await policy.execute(fail)
      const other = new Error('other')
      await outcome(policy.execute(() => Promise.reject(other)))
      expect(events).toEqual([
        ['onSuccess', {}],
        ['onFailure', { handled: true, reason: { error: failure } }],
        ['onFailure', { handled: false, reason: { error: other } }],
      ])
    })
  })

  describe('noop', () => {
    it('calls the function and emits its results', async () => {
      const { noop } = lib
      const events = recordEvents(new lib.NoopPolicy())
      expect(noop).toBeInstanceOf(lib.NoopPolicy)
      expect(await noop.execute(() => 1)).toBe(1)
      expect(await outcome(noop.execute(fail))).toBe(failure)
      const { signal } = new AbortController()
      expect(await noop.execute((context) => context.signal, signal)).toBe(signal)
      expect(events).toEqual([])
    })
  })

  describe('wrap', () => {
    it('runs the policies from the first to the last, with a merged context', async () => {
      const retrying = lib.retry(handleAll, { maxAttempts: 3 })
      const breaking = lib.circuitBreaker(handleAll, {
        halfOpenAfter: 1000,
        breaker: new ConsecutiveBreaker(9),
      })
      const timing = lib.timeout(10, TimeoutStrategy.Aggressive)
      const policy = lib.wrap(retrying, breaking, timing)
      expect(policy.wrapped).toEqual([retrying, breaking, timing])
      expect([policy.onSuccess, policy.onFailure]).toEqual([retrying.onSuccess, retrying.onFailure])
      const contexts: { attempt: number; signal: AbortSignal }[] = []
      const call = policy.execute((context) => {
        contexts.push(context)
        return context.attempt < 2 ? new Promise<string>(() => {}) : 'value'
      })
      expect(await settle(call)).toBe('value')
      expect(contexts.map(({ attempt }) => attempt)).toEqual([0, 1, 2])
      expect(contexts.every(({ signal }) => signal.aborted)).toBe(true)
    })

    it('breaks the circuit during the retries', async () => {
      const policy = lib.wrap(
        lib.retry(handleType(NetworkError), { maxAttempts: 5 }),
        lib.circuitBreaker(handleAll, { halfOpenAfter: 1000, breaker: new ConsecutiveBreaker(2) }),
      )
      expect(await settle(policy.execute(fail))).toBeInstanceOf(lib.BrokenCircuitError)
    })

    it('passes the signal of the caller', async () => {
      const { signal } = new AbortController()
      const policy = lib.wrap(lib.noop, lib.bulkhead(1), lib.fallback(handleAll, 1), lib.noop, lib.noop)
      expect(await policy.execute((context) => context.signal, signal)).toBe(signal)
      expect(await lib.wrap(lib.noop).execute((context) => context.signal)).toBeInstanceOf(AbortSignal)
    })
  })

  describe('usePolicy', () => {
    /** Applies the decorator to a method as TypeScript does. */
    const decorate = (value: unknown) => {
      const descriptor: PropertyDescriptor = { value }
      lib.usePolicy(lib.retry(handleAll, { maxAttempts: 5 }))({}, 'method', descriptor)
      return descriptor.value as (...args: unknown[]) => Promise<unknown>
    }

    it('calls the method with its own this, the arguments and the context', async () => {
      const method = decorate(function (this: unknown, n: number, context: Ours.IRetryContext) {
        if (context.attempt < 2) throw failure
        return [this, n, context]
      })
      const self = { method }
      expect(await settle(self.method(2))).toEqual([self, 2, { attempt: 2, signal: expect.any(AbortSignal) }])
    })

    it('takes a signal from the last argument', async () => {
      const { signal } = new AbortController()
      const method = decorate((...args: unknown[]) => args)
      expect(await method(2, signal)).toEqual([2, { attempt: 0, signal }])
    })

    it('decorates methods only', () => {
      expect(() => decorate(5)).toThrow('Can only decorate functions with @cockatiel, got number')
    })
  })

  describe('events', () => {
    const { Event, EventEmitter } = lib

    it('are subscribed to by a call, until dispose', () => {
      const emitter = new EventEmitter<number>()
      const seen: string[] = []
      const first = emitter.addListener((n) => seen.push(`a${n}`))
      emitter.emit(1)
      const second = emitter.addListener((n) => seen.push(`b${n}`))
      emitter.emit(2)
      expect(emitter.size).toBe(2)
      first.dispose()
      first.dispose()
      emitter.emit(3)
      second.dispose()
      emitter.emit(4)
      expect(emitter.size).toBe(0)
      expect(seen).toEqual(['a1', 'a2', 'b2', 'b3'])
    })

    it('Event.once calls the listener once', () => {
      const emitter = new EventEmitter<number>()
      const listener = vi.fn()
      Event.once(emitter.addListener, listener)
      const disposed = vi.fn()
      Event.once(emitter.addListener, disposed).dispose()
      emitter.emit(1)
      emitter.emit(2)
      expect(listener).toHaveBeenCalledExactlyOnceWith(1)
      expect(disposed).not.toHaveBeenCalled()
    })

    it('Event.once accepts an event that calls the listener at once', () => {
      const dispose = vi.fn()
      const listener = vi.fn()
      Event.once<number>((emit) => {
        emit(1)
        return { dispose }
      }, listener)
      expect(listener).toHaveBeenCalledExactlyOnceWith(1)
      expect(dispose).toHaveBeenCalledTimes(1)
    })

    it('Event.toPromise resolves with the next event', async () => {
      const emitter = new EventEmitter<number>()
      const promise = Event.toPromise(emitter.addListener)
      const controlled = Event.toPromise(emitter.addListener, new AbortController().signal)
      emitter.emit(1)
      emitter.emit(2)
      expect([await promise, await controlled]).toEqual([1, 1])
      expect(emitter.size).toBe(0)
    })

    it('Event.toPromise rejects when the signal is aborted', async () => {
      const emitter = new EventEmitter<number>()
      const controller = new AbortController()
      const promise = outcome(Event.toPromise(emitter.addListener, controller.signal))
      controller.abort()
      expect(await promise).toBeInstanceOf(lib.TaskCancelledError)
      expect(await outcome(Event.toPromise(emitter.addListener, controller.signal))).toBeInstanceOf(
        lib.TaskCancelledError,
      )
      expect(emitter.size).toBe(0)
    })
  })

  describe('errors', () => {
    it('have these messages and marks', () => {
      expect(new lib.BulkheadRejectedError(3, 4)).toMatchObject({
        message: 'Bulkhead capacity exceeded (0/3 execution slots, 0/4 available)',
        isBulkheadRejectedError: true,
      })
      expect(new lib.BrokenCircuitError('open')).toMatchObject({
        message: 'open',
        isBrokenCircuitError: true,
      })
      expect(new lib.TaskCancelledError('late')).toMatchObject({
        message: 'late',
        isTaskCancelledError: true,
      })
      expect(new lib.IsolatedCircuitError()).toMatchObject({
        message: 'Execution prevented because the circuit breaker is open',
        isBrokenCircuitError: true,
        isIsolatedCircuitError: true,
      })
      expect(new lib.HydratingCircuitError()).toMatchObject({ isHydratingCircuitError: true, name: 'Error' })
    })

    it('the predicates recognise them', () => {
      expect(lib.isBrokenCircuitError(new lib.BrokenCircuitError())).toBe(true)
      expect(lib.isBrokenCircuitError(new lib.IsolatedCircuitError())).toBe(true)
      expect(lib.isBrokenCircuitError(new lib.TaskCancelledError())).toBe(false)
      expect(lib.isBulkheadRejectedError(new lib.BulkheadRejectedError(1, 1))).toBe(true)
      expect(lib.isHydratingCircuitError(new lib.HydratingCircuitError())).toBe(true)
      for (const value of [undefined, null, 'text', {}, new Error('other')])
        expect([
          lib.isBrokenCircuitError(value),
          lib.isBulkheadRejectedError(value),
          lib.isIsolatedCircuitError(value),
          lib.isTaskCancelledError(value),
          lib.isHydratingCircuitError(value),
        ]).toEqual(Array(5).fill(false))
    })
  })
})

describe('the differences', () => {
  it('isIsolatedCircuitError and isTaskCancelledError recognise their errors', () => {
    expect(Ours.isIsolatedCircuitError(new Ours.IsolatedCircuitError())).toBe(true)
    expect(Ours.isTaskCancelledError(new Ours.TaskCancelledError())).toBe(true)
    expect(Ours.isTaskCancelledError(new Ours.BulkheadRejectedError(1, 1))).toBe(false)
    expect(Original.isTaskCancelledError(new Original.TaskCancelledError())).toBe(false)
  })

  it('a bulkhead emits onSuccess and onFailure', async () => {
    const observe = async (policy: Ours.BulkheadPolicy) => {
      const events = recordEvents(policy)
      await policy.execute(() => 1)
      await outcome(policy.execute(fail))
      return events
    }
    expect(await observe(Ours.bulkhead(1))).toEqual([
      ['onSuccess', {}],
      ['onFailure', { handled: false, reason: { error: failure } }],
    ])
    expect(await observe(Original.bulkhead(1) as never)).toEqual([])
  })

  it('a bulkhead gives the slot of a queued call that was aborted to the next one', async () => {
    const run = async (policy: Ours.BulkheadPolicy) => {
      const controller = new AbortController()
      void policy.execute(() => sleep(10))
      void outcome(policy.execute(() => 'aborted', controller.signal))
      const last = vi.fn(() => 'last')
      void policy.execute(last)
      controller.abort()
      await vi.advanceTimersByTimeAsync(1000)
      return last.mock.calls.length
    }
    expect(await run(Ours.bulkhead(1, 5))).toBe(1)
    expect(await run(Original.bulkhead(1, 5) as never)).toBe(0)
  })

  it('a call that waited for a test call keeps its signal', async () => {
    const run = async (lib: Library) => {
      const options = { halfOpenAfter: 10, breaker: new lib.ConsecutiveBreaker(1) }
      const breaker = lib.circuitBreaker(lib.handleAll, options)
      await outcome(breaker.execute(fail))
      await vi.advanceTimersByTimeAsync(10)
      const { signal } = new AbortController()
      void breaker.execute(async () => 1)
      return signal === (await breaker.execute((context) => context.signal, signal))
    }
    expect([await run(Ours), await run(Original as unknown as Library)]).toEqual([true, false])
  })

  it('a listener of onHalfOpen that throws does not stop later calls', async () => {
    // The original never returns from the second call: it waits again and again for the test that has ended.
    const breaker = Ours.circuitBreaker(Ours.handleAll, {
      halfOpenAfter: 10,
      breaker: new Ours.ConsecutiveBreaker(1),
    })
    await outcome(breaker.execute(fail))
    await vi.advanceTimersByTimeAsync(10)
    const thrown = new Error('listener')
    const subscription = breaker.onHalfOpen(() => {
      throw thrown
    })
    expect(await outcome(breaker.execute(() => 1))).toBe(thrown)
    expect(breaker.state).toBe(Ours.CircuitState.Open)
    subscription.dispose()
    expect(await breaker.execute(() => 42)).toBe(42)
    expect(breaker.state).toBe(Ours.CircuitState.Closed)
  })

  it('long delays and timeouts do not overflow the timers of the platform', async () => {
    const days = 30 * 86_400_000
    const backoff = new Ours.ConstantBackoff(days)
    const fn = scripted(failure)
    const call = Ours.retry(Ours.handleAll, { backoff }).execute(fn)
    await vi.advanceTimersByTimeAsync(days - 1)
    expect(fn).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(await call).toBe('ok')
    const policy = Ours.timeout(Number.POSITIVE_INFINITY, Ours.TimeoutStrategy.Aggressive)
    const slow = policy.execute(() => sleep(days))
    await vi.advanceTimersByTimeAsync(days)
    expect(await slow).toBe('slept')
  })

  it('a listener that another listener adds is called from the next event on', () => {
    const added = ({ EventEmitter }: Library) => {
      const emitter = new EventEmitter<void>()
      const listener = vi.fn()
      emitter.addListener(() => {})
      emitter.addListener(() => emitter.addListener(listener))
      emitter.emit()
      return listener.mock.calls.length
    }
    expect([added(Ours), added(Original as unknown as Library)]).toEqual([0, 1])
  })

  it('wrap without policies calls the function', async () => {
    expect(await Ours.wrap().execute(() => 42)).toBe(42)
    expect(() => Original.wrap()).toThrow(TypeError)
  })

  it('the state of a breaker is a copy', () => {
    const breaker = new Ours.CountBreaker({ threshold: 0.5, size: 2 })
    const before = JSON.stringify(breaker.state)
    const { state } = breaker
    breaker.failure(Ours.CircuitState.Closed)
    expect(JSON.stringify(state)).toBe(before)
  })
})
