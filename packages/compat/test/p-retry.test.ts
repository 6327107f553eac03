// Each documented behaviour of p-retry 7.0.0, with the original and with ours.
// cspell:ignore unstub
import * as original from 'p-retry'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import * as ours from '../src/p-retry/index.js'

type Library = typeof original

beforeEach(() => vi.useFakeTimers({ now: 0 }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Runs all timers until the call settles; returns its value, or `{ thrown }`. */
async function settle<T>(call: Promise<T>): Promise<T | { thrown: unknown }> {
  const settled = call.catch((thrown: unknown) => ({ thrown }))
  await vi.runAllTimersAsync()
  return settled
}

/** The error with which a call rejects. */
const errorOf = async (call: Promise<unknown>): Promise<Error> =>
  ((await settle(call)) as { thrown: Error }).thrown

const failure = new Error('fixture')

/** A function that fails until attempt `successAt` and records the time of each attempt. */
function failing(successAt = Number.POSITIVE_INFINITY, error: unknown = failure) {
  const times: number[] = []
  const input = async (attempt: number) => {
    times.push(Date.now())
    if (attempt < successAt) throw error
    return `attempt ${attempt}`
  }
  return { times, input }
}

describe.each<[string, Library]>([
  ['p-retry', original],
  ['@holdfast/compat/p-retry', ours as Library],
])('%s', (_, { default: pRetry, AbortError, makeRetriable }) => {
  it('exports what the original exports', () => {
    expect(Object.keys(ours).toSorted()).toEqual(Object.keys(original).toSorted())
    expect([pRetry.name, pRetry.length]).toEqual(['pRetry', 1])
  })

  describe('attempts', () => {
    it('returns the value of the first attempt that succeeds', async () => {
      const { input, times } = failing(3)
      expect(await settle(pRetry(input))).toBe('attempt 3')
      expect(times).toEqual([0, 1000, 3000])
    })

    it('calls the function before it returns a promise', () => {
      const input = vi.fn(() => 1)
      void pRetry(input)
      expect(input).toHaveBeenCalledExactlyOnceWith(1)
    })

    it('accepts a value that is not a promise, and a function that throws', async () => {
      expect(await settle(pRetry(() => 5))).toBe(5)
      const thrown = await errorOf(
        pRetry(
          () => {
            throw failure
          },
          { retries: 0 },
        ),
      )
      expect(thrown).toBe(failure)
    })

    it('rejects with the last error after 10 retries by default', async () => {
      const { input, times } = failing()
      expect(await settle(pRetry(input))).toEqual({ thrown: failure })
      expect(times).toEqual([...Array(11).keys()].map((n) => 1000 * (2 ** n - 1)))
    })

    it.each([
      [0, 1],
      [1, 2],
      [1.5, 3],
      [3, 4],
    ])('makes %d retries: %d attempts', async (retries, attempts) => {
      const { input, times } = failing()
      await settle(pRetry(input, { retries, minTimeout: 1 }))
      expect(times.length).toBe(attempts)
    })

    it('retries without limit if retries is Infinity', async () => {
      const { input, times } = failing(150)
      expect(await settle(pRetry(input, { retries: Infinity, minTimeout: 0, maxTimeout: 1 }))).toBe(
        'attempt 150',
      )
      expect(times.length).toBe(150)
    })
  })

  describe('the stack of an error', () => {
    const { stackTraceLimit } = Error
    beforeEach(() => {
      Error.stackTraceLimit = 10 // the default of Node.js
    })
    afterEach(() => {
      Error.stackTraceLimit = stackTraceLimit
    })

    it('has the callers, also of a function that fails before its first await', async () => {
      const inner = async () =>
        await pRetry(
          async () => {
            throw new Error('fixture')
          },
          { retries: 1 },
        )
      const outer = async () => await inner()
      const { stack } = await errorOf(outer())
      expect(stack).toMatch(/fixture[^]* inner [^]* outer /)
    })
  })

  describe('delays', () => {
    it.each([
      ['factor 3', { factor: 3, minTimeout: 10 }, [10, 30, 90]],
      ['factor 1', { factor: 1, minTimeout: 10 }, [10, 10, 10]],
      ['factor 0 as 1', { factor: 0, minTimeout: 10 }, [10, 10, 10]],
      ['factor 0.5, rounded', { factor: 0.5, minTimeout: 9 }, [9, 5, 2]],
      ['minTimeout 0 as 1', { minTimeout: 0 }, [1, 2, 4]],
      ['maxTimeout', { minTimeout: 10, maxTimeout: 15 }, [10, 15, 15]],
      ['maxTimeout below minTimeout', { minTimeout: 10, maxTimeout: 3 }, [3, 3, 3]],
      ['maxTimeout 0', { maxTimeout: 0 }, [0, 0, 0]],
    ])('%s', async (_, options, delays) => {
      const { input, times } = failing()
      await settle(pRetry(input, { ...options, retries: 3 }))
      expect(times.slice(1).map((time, index) => time - (times[index] as number))).toEqual(delays)
    })

    it('multiplies by 1 to 2 if randomize is true', async () => {
      const random = vi.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValue(0.5)
      const { input, times } = failing()
      await settle(pRetry(input, { retries: 2, minTimeout: 10, randomize: true }))
      expect(times).toEqual([0, 10, 40])
      expect(random).toHaveBeenCalledTimes(2)
    })

    it('starts no attempt after maxRetryTime and shortens the last delay to it', async () => {
      const { input, times } = failing()
      expect(await settle(pRetry(input, { maxRetryTime: 2500 }))).toEqual({ thrown: failure })
      expect(times).toEqual([0, 1000, 2500])
    })

    it('makes one attempt if maxRetryTime is 0', async () => {
      const { input, times } = failing()
      await settle(pRetry(input, { maxRetryTime: 0 }))
      expect(times).toEqual([0])
    })

    it.each([true, false])('unref %s', async (unref) => {
      const unrefTimer = vi.fn()
      vi.stubGlobal('setTimeout', (fn: () => void) => {
        queueMicrotask(fn)
        return { unref: unrefTimer }
      })
      vi.stubGlobal('clearTimeout', () => {})
      try {
        await pRetry(failing(2).input, { unref })
      } finally {
        vi.unstubAllGlobals()
      }
      expect(unrefTimer).toHaveBeenCalledTimes(unref ? 1 : 0)
    })

    it('retries when the timer runs, even if it runs early, and sets one timer for each delay', async () => {
      const delays: (number | undefined)[] = []
      vi.stubGlobal('setTimeout', (fn: () => void, ms?: number) => {
        delays.push(ms)
        queueMicrotask(fn)
        return delays.length
      })
      vi.stubGlobal('clearTimeout', () => {})
      try {
        await pRetry(failing(4).input)
      } finally {
        vi.unstubAllGlobals()
      }
      expect(delays).toEqual([1000, 2000, 4000])
    })
  })

  describe('errors that are not retried', () => {
    it('AbortError: rejects with the original error', async () => {
      const { input, times } = failing(9, new AbortError(failure))
      expect(await settle(pRetry(input))).toEqual({ thrown: failure })
      expect(times.length).toBe(1)
    })

    it('AbortError has the message, and an original error', () => {
      const fromText = new AbortError('gone')
      expect(fromText).toBeInstanceOf(Error)
      expect([fromText.name, fromText.message]).toEqual(['AbortError', 'gone'])
      expect(fromText.originalError.constructor).toBe(Error)
      expect(fromText.originalError.message).toBe('gone')
      expect(fromText.originalError.stack).toBe(fromText.stack)
      const fromError = new AbortError(failure)
      expect([fromError.name, fromError.message]).toEqual(['AbortError', 'fixture'])
      expect(fromError.originalError).toBe(failure)
    })

    it('TypeError', async () => {
      const error = new TypeError('not a function')
      const onFailedAttempt = vi.fn()
      const shouldRetry = vi.fn(() => true)
      const { input, times } = failing(9, error)
      expect(await settle(pRetry(input, { onFailedAttempt, shouldRetry }))).toEqual({ thrown: error })
      expect(times.length).toBe(1)
      expect(onFailedAttempt).not.toHaveBeenCalled()
      expect(shouldRetry).not.toHaveBeenCalled()
    })

    it.each(['foo', 5, null, undefined, ['foo']])('%j, which is not an Error', async (value) => {
      const input = vi.fn(() => Promise.reject(value))
      const thrown = await errorOf(pRetry(input))
      expect(thrown).toBeInstanceOf(TypeError)
      expect(thrown.message).toBe(`Non-error was thrown: "${String(value)}". You should only throw errors.`)
      expect(input).toHaveBeenCalledTimes(1)
    })

    it.each([
      ['fetch failed', 2],
      ['Failed to fetch', 2],
      ['Failed to fetch (example.com)', 2],
      ['Failed to fetch it', 1],
      ['NetworkError when attempting to fetch resource.', 2],
      ['The Internet connection appears to be offline.', 2],
      ['Network request failed', 2],
      ['Network connection lost', 2],
      ['network error', 2],
      ['Network Error', 1],
      ['terminated', 2],
      [' A network error occurred.', 2],
      ['error sending request for url (http://localhost)', 2],
      ['Load failed', 1],
    ])('a TypeError of fetch, %j: %d attempts', async (message, attempts) => {
      const { input, times } = failing(9, new TypeError(message))
      await settle(pRetry(input, { retries: 1 }))
      expect(times.length).toBe(attempts)
    })

    it.each(['Load failed', 'Load failed (example.com)'])(
      '%s of Safari, without a stack, is retried',
      async (message) => {
        const error = new TypeError(message)
        Object.defineProperty(error, 'stack', { value: undefined })
        const { input, times } = failing(9, error)
        await settle(pRetry(input, { retries: 1 }))
        expect(times.length).toBe(2)
      },
    )

    it('retries errors that Holdfast classifies as permanent', async () => {
      const { input, times } = failing(9, Object.assign(new RangeError('bad'), { status: 404 }))
      await settle(pRetry(input, { retries: 1 }))
      expect(times.length).toBe(2)
    })

    it('ignores Retry-After', async () => {
      const { input, times } = failing(9, Object.assign(new Error('busy'), { retryAfter: 50_000 }))
      await settle(pRetry(input, { retries: 1 }))
      expect(times).toEqual([0, 1000])
    })
  })

  describe('onFailedAttempt', () => {
    it('gets a frozen context after each failure, including the last', async () => {
      const contexts: unknown[] = []
      const onFailedAttempt = (context: unknown) => void contexts.push(context)
      await settle(pRetry(failing().input, { retries: 2, onFailedAttempt }))
      expect(contexts).toEqual(
        [1, 2, 3].map((n) => ({ error: failure, attemptNumber: n, retriesLeft: 3 - n })),
      )
      expect(contexts.every((context) => Object.isFrozen(context))).toBe(true)
    })

    it('reports Infinity retries left if retries is Infinity', async () => {
      const left: number[] = []
      await settle(
        pRetry(failing(3).input, {
          retries: Infinity,
          onFailedAttempt: ({ retriesLeft }) => void left.push(retriesLeft),
        }),
      )
      expect(left).toEqual([Infinity, Infinity])
    })

    it('is awaited before the delay', async () => {
      const { input, times } = failing(2)
      const onFailedAttempt = () => new Promise<void>((resolve) => setTimeout(resolve, 300))
      await settle(pRetry(input, { onFailedAttempt }))
      expect(times).toEqual([0, 1300])
    })

    it('counts towards maxRetryTime', async () => {
      const { input, times } = failing(2)
      const onFailedAttempt = () => new Promise<void>((resolve) => setTimeout(resolve, 300))
      expect(await settle(pRetry(input, { onFailedAttempt, maxRetryTime: 300 }))).toEqual({ thrown: failure })
      expect(times).toEqual([0])
    })

    it.each(['throws', 'rejects'])('ends the call with its error if it %s', async (how) => {
      const error = new TypeError('from the callback')
      const { input, times } = failing()
      const onFailedAttempt = () => {
        if (how === 'throws') throw error
        return Promise.reject(error)
      }
      expect(await settle(pRetry(input, { onFailedAttempt }))).toEqual({ thrown: error })
      expect(times.length).toBe(1)
    })
  })

  describe('shouldRetry', () => {
    it('ends the call with the error if it returns false', async () => {
      const contexts: unknown[] = []
      const { input, times } = failing()
      const shouldRetry = (context: { attemptNumber: number }) => {
        contexts.push(context)
        return context.attemptNumber < 2
      }
      expect(await settle(pRetry(input, { retries: 5, shouldRetry }))).toEqual({ thrown: failure })
      expect(times.length).toBe(2)
      expect(contexts).toEqual([
        { error: failure, attemptNumber: 1, retriesLeft: 5 },
        { error: failure, attemptNumber: 2, retriesLeft: 4 },
      ])
    })

    it('can be asynchronous', async () => {
      const { input, times } = failing()
      await settle(pRetry(input, { shouldRetry: async ({ attemptNumber }) => attemptNumber < 3 }))
      expect(times.length).toBe(3)
    })

    it('is called after onFailedAttempt, and not after the last attempt', async () => {
      const order: string[] = []
      await settle(
        pRetry(failing().input, {
          retries: 1,
          onFailedAttempt: () => void order.push('onFailedAttempt'),
          shouldRetry: () => order.push('shouldRetry') > 0,
        }),
      )
      expect(order).toEqual(['onFailedAttempt', 'shouldRetry', 'onFailedAttempt'])
    })

    it('ends the call with its error if it throws', async () => {
      const error = new Error('from the callback')
      const shouldRetry = () => {
        throw error
      }
      expect(await settle(pRetry(failing().input, { shouldRetry }))).toEqual({ thrown: error })
    })
  })

  describe('signal', () => {
    it('makes no attempt if it is already aborted', async () => {
      const reason = new Error('cancelled')
      const { input, times } = failing()
      expect(await settle(pRetry(input, { signal: AbortSignal.abort(reason) }))).toEqual({ thrown: reason })
      expect(times).toEqual([])
    })

    it('ends a delay at once, with the reason', async () => {
      const controller = new AbortController()
      const reason = new Error('cancelled')
      const { input, times } = failing()
      setTimeout(() => controller.abort(reason), 1500)
      expect(await settle(pRetry(input, { signal: controller.signal }))).toEqual({ thrown: reason })
      expect(Date.now()).toBe(1500)
      expect(times).toEqual([0, 1000])
    })

    it('has the default reason of the platform', async () => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(), 10)
      const thrown = await errorOf(pRetry(failing().input, { signal: controller.signal }))
      expect(thrown).toBeInstanceOf(DOMException)
      expect(thrown.name).toBe('AbortError')
    })

    it('awaits a running attempt, then rejects with the reason instead of its value', async () => {
      const controller = new AbortController()
      const reason = new Error('cancelled')
      const finished = vi.fn()
      const failed = vi.fn()
      const call = pRetry(
        async () => {
          controller.abort(reason)
          await new Promise((resolve) => setTimeout(resolve, 100))
          finished()
        },
        { signal: controller.signal, onFailedAttempt: ({ error }) => failed(error) },
      )
      expect(await settle(call)).toEqual({ thrown: reason })
      expect(finished).toHaveBeenCalledTimes(1)
      expect(failed).toHaveBeenCalledExactlyOnceWith(reason)
    })

    it('ends the call with the reason if an attempt fails after the abort', async () => {
      const controller = new AbortController()
      let attempts = 0
      const input = async (attempt: number) => {
        attempts++
        if (attempt === 3) controller.abort(new Error('cancelled'))
        throw failure
      }
      const thrown = await errorOf(pRetry(input, { signal: controller.signal }))
      expect(thrown.message).toBe('cancelled')
      expect(attempts).toBe(3)
    })

    it('reports a reason that is not an Error as a TypeError if an attempt was running', async () => {
      const controller = new AbortController()
      const input = () => controller.abort('cancelled')
      const thrown = await errorOf(pRetry(input, { signal: controller.signal }))
      expect(thrown).toBeInstanceOf(TypeError)
      expect(thrown.message).toContain('Non-error was thrown: "cancelled"')
    })

    it('has no listeners after the call', async () => {
      const { signal } = new AbortController()
      const added = vi.spyOn(signal, 'addEventListener')
      const removed = vi.spyOn(signal, 'removeEventListener')
      await settle(pRetry(failing(4).input, { signal }))
      expect(removed.mock.calls.length).toBe(added.mock.calls.length)
    })
  })

  describe('options', () => {
    const { input } = failing()

    it.each<[object, string]>([
      [{ retries: -1 }, 'Expected `retries` to be a non-negative number.'],
      [{ retries: NaN }, 'Expected `retries` to be a valid number or Infinity, got NaN.'],
      [{ retries: '3' }, 'Expected `retries` to be a number or Infinity.'],
      [{ retries: null }, 'Expected `retries` to be a number or Infinity.'],
      [{ factor: -1 }, 'Expected `factor` to be ≥ 0.'],
      [{ factor: Infinity }, 'Expected `factor` to be a finite number.'],
      [{ factor: '2' }, 'Expected `factor` to be a number.'],
      [{ minTimeout: -1 }, 'Expected `minTimeout` to be ≥ 0.'],
      [{ minTimeout: Infinity }, 'Expected `minTimeout` to be a finite number.'],
      [{ maxTimeout: NaN }, 'Expected `maxTimeout` to be a number or Infinity.'],
      [{ maxTimeout: -1 }, 'Expected `maxTimeout` to be ≥ 0.'],
      [{ maxRetryTime: -1 }, 'Expected `maxRetryTime` to be ≥ 0.'],
      [{ maxRetryTime: 'x' }, 'Expected `maxRetryTime` to be a number or Infinity.'],
    ])('rejects %o', async (options, message) => {
      const thrown = await errorOf(pRetry(input, options))
      expect(thrown).toBeInstanceOf(TypeError)
      expect(thrown.message).toBe(message)
    })

    it('rejects forever', async () => {
      const thrown = await errorOf(pRetry(input, { forever: true } as object))
      expect(thrown).not.toBeInstanceOf(TypeError)
      expect(thrown.message).toBe(
        'The `forever` option is no longer supported. For many use-cases, you can set `retries: Infinity` instead.',
      )
    })

    it('accepts undefined and a frozen object, and does not change it', async () => {
      const options = Object.freeze({ retries: undefined, minTimeout: undefined, onFailedAttempt: undefined })
      expect(await settle(pRetry(failing(2).input, options as object))).toBe('attempt 2')
      expect(Object.keys(options)).toEqual(['retries', 'minTimeout', 'onFailedAttempt'])
    })
  })

  describe('makeRetriable', () => {
    it('passes this and the arguments on, and retries', async () => {
      let calls = 0
      const target = {
        base: 10,
        add: makeRetriable(async function (this: { base: number }, a: number, b: number) {
          if (++calls < 3) throw failure
          return this.base + a + b
        }),
      }
      expect(await settle(target.add(1, 2))).toBe(13)
      expect(calls).toBe(3)
    })

    it('has its own count of retries for each call', async () => {
      const input = vi.fn(() => Promise.reject(failure))
      const retriable = makeRetriable(input, { retries: 1 })
      await settle(retriable())
      await settle(retriable())
      expect(input).toHaveBeenCalledTimes(4)
    })
  })
})

describe('@holdfast/compat/p-retry, unlike p-retry', () => {
  const abortedInAttempt = async ({ default: pRetry }: Library) => {
    const controller = new AbortController()
    const input = () => controller.abort(new Error('cancelled'))
    await settle(pRetry(input, { signal: controller.signal }))
    return Date.now()
  }

  it('rejects without a delay after an attempt in which the signal was aborted', async () => {
    expect(await abortedInAttempt(ours as Library)).toBe(0)
    expect(await abortedInAttempt(original)).toBe(1000)
  })

  it('waits as long as it should for a delay above the limit of platform timers', async () => {
    const timers: (number | undefined)[] = []
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((_: unknown, ms?: number) => {
      return timers.push(ms)
    }) as typeof setTimeout)
    for (const { default: pRetry } of [original, ours as Library])
      void pRetry(failing().input, { minTimeout: 2 ** 31 })
    for (let turn = 0; turn < 50; turn++) await Promise.resolve()
    expect(timers).toEqual([2 ** 31, 2 ** 31 - 1])
  })
})
