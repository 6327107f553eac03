import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { classify, guard, type RetryOptions, stopRetrying } from '../../src/index.js'
import { openai, postgres } from '../../src/presets/index.js'
import { retry } from '../../src/retry-function/index.js'
import { fakeClock, scripted, seededRandom } from '../../src/testing/index.js'
import { errorWith, fate, never, rejection } from '../guard/watch.js'
import { histories, seedOf } from '../histories.js'

const IMMEDIATE = { maxAttempts: 3, backoffType: 'immediate' } as const
const down = (facts: object = {}) => errorWith({ code: 'ECONNRESET', ...facts })

/** How often a function that throws this error is called. */
async function callsAfter(error: unknown, options: object = {}): Promise<number> {
  const fn = vi.fn(() => Promise.reject(error))
  await rejection(retry(fn, { ...IMMEDIATE, ...options }))
  return fn.mock.calls.length
}

describe('retry', () => {
  it('returns the value of the first attempt that succeeds', async () => {
    const numbers: number[] = []
    const value = await retry(({ number }) => {
      numbers.push(number)
      if (number < 3) throw down()
      return 'up'
    }, IMMEDIATE)
    expect(value).toBe('up')
    expect(numbers).toEqual([1, 2, 3])
  })

  it('rejects with the unchanged error of the last attempt', async () => {
    const error = down()
    expect(await rejection(retry(() => Promise.reject(error), IMMEDIATE))).toBe(error)
  })

  it('waits for the delays of a guard', async () => {
    const clock = fakeClock()
    const times: number[] = []
    const call = fate(
      retry(() => times.push(clock.now()) && Promise.reject(down()), {
        clock,
        maxAttempts: 4,
        baseDelay: 100,
      }),
    )
    await clock.advance(10_000)
    expect(call.state).toBe('rejected')
    expect(times.map((time) => time - (times[0] as number))).toEqual([0, 100, 300, 700])
  })

  it('uses the timers of the platform by default, and waits for delays beyond the longest timer', async () => {
    vi.useFakeTimers()
    try {
      const fn = scripted([down(), 'up'])
      const monthMs = 30 * 86_400_000
      const call = fate(retry(fn, { baseDelay: monthMs, maxDelay: monthMs }))
      await vi.advanceTimersByTimeAsync(monthMs - 1)
      expect(fn.calls).toBe(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(call).toEqual({ state: 'fulfilled', value: 'up' })
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  it.each([
    ['a status of the client', errorWith({ status: 404 }), 1],
    ['a status of a response', errorWith({ response: { status: 422 } }), 1],
    ['a status that is not implemented', errorWith({ statusCode: 501 }), 1],
    ['a status of the server', errorWith({ status: 503 }), 3],
    ['a rate limit', errorWith({ statusCode: 429 }), 3],
    ['a programming error', new TypeError('x is not a function'), 1],
    ['a failed fetch', new TypeError('fetch failed'), 3],
    ['an abort', new DOMException('stop', 'AbortError'), 1],
    ['an unknown error', new Error('what?'), 3],
    ['a thrown text', 'text', 1],
    ['null', null, 1],
    [
      'a hostile object',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no')
          },
        },
      ),
      1,
    ],
    ['a rejection of a guard', errorWith({ name: 'HoldfastError', code: 'CIRCUIT_OPEN' }), 1],
  ])('calls the function as often as %s allows', async (_, error, calls) => {
    expect(await callsAfter(error)).toBe(calls)
  })

  it('classifies as a guard does with classify', async () => {
    const duplicate = errorWith({ code: '23505' })
    expect(await callsAfter(duplicate)).toBe(3)
    expect(await callsAfter(duplicate, { classify })).toBe(1)
    expect(await callsAfter(down(), { classify, retryOn: ['network_error'] })).toBe(3)
    expect(await callsAfter(down(), { classify, retryOn: ['timeout'] })).toBe(1)
  })

  it('matches classes, names, codes, categories and functions in retryOn and abortOn', async () => {
    class Busy extends Error {}
    const wrapped = new Error('failed', { cause: new Busy() })
    expect(await callsAfter(wrapped, { retryOn: [Busy] })).toBe(3)
    expect(await callsAfter(new Error('other'), { retryOn: [Busy] })).toBe(1)
    expect(await callsAfter(down(), { retryOn: ['ECONNRESET'] })).toBe(3)
    expect(await callsAfter(down(), { retryOn: ['transient'], abortOn: ['ECONNRESET'] })).toBe(1)
    expect(
      await callsAfter(down(), { abortOn: [({ code }: { code: string }) => code === 'ECONNRESET'] }),
    ).toBe(1)
    expect(
      await callsAfter(down(), {
        abortOn: [
          () => {
            throw new Error('broken')
          },
        ],
      }),
    ).toBe(3)
    expect(await callsAfter(down(), { retryOn: [] })).toBe(1)
  })

  it('retries what retryIf asks for, and returns an unwanted value of the last attempt', async () => {
    expect(await callsAfter(errorWith({ status: 404 }), { retryIf: () => true })).toBe(3)
    const retryIf = ({ value }: { value?: unknown }) => value === 'pending'
    expect(await retry(scripted(['pending', 'done']), { ...IMMEDIATE, retryIf })).toBe('done')
    expect(await retry(() => 'pending', { ...IMMEDIATE, retryIf })).toBe('pending')
  })

  it('ends with the error of stopRetrying', async () => {
    const closed = new Error('closed')
    expect(
      await rejection(
        retry(() => {
          throw stopRetrying(closed)
        }, IMMEDIATE),
      ),
    ).toBe(closed)
  })

  it.each([
    ['a header in seconds', { headers: new Headers({ 'retry-after': '7' }) }, 7000],
    [
      'a header of the response',
      { response: { status: 503, headers: new Headers({ 'retry-after': '2' }) } },
      2000,
    ],
    ['a property in milliseconds', { retryAfter: 300 }, 300],
    ['a date', { headers: new Headers({ 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }) }, 5000],
  ])('waits for the Retry-After in %s', async (_, facts, ms) => {
    const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
    const fn = scripted([down(facts), 'up'])
    const call = retry(fn, { clock })
    await clock.advance(ms - 1)
    expect(fn.calls).toBe(1)
    await clock.advance(1)
    expect(await call).toBe('up')
  })

  it('ends at once where Retry-After is above its maximum', async () => {
    expect(await callsAfter(down({ retryAfter: 61_000 }))).toBe(1)
  })

  it('ends with TOTAL_TIMEOUT during an attempt, whose signal is aborted', async () => {
    const clock = fakeClock()
    const first = down()
    let signal: AbortSignal | undefined
    const call = fate(
      retry(
        (attempt) => {
          if (attempt.number === 1) throw first
          signal = attempt.signal
          return never()
        },
        { clock, timeout: { total: '100ms' }, backoffType: 'immediate' },
      ),
    )
    await clock.advance(99)
    expect(call.state).toBe('pending')
    await clock.advance(1)
    expect(call).toMatchObject({ state: 'rejected', error: { code: 'TOTAL_TIMEOUT', cause: first } })
    expect(signal?.reason).toBe(call.error)
  })

  it('does not begin a delay that would pass the total deadline', async () => {
    const clock = fakeClock()
    const error = down()
    const call = fate(retry(() => Promise.reject(error), { clock, baseDelay: 100, timeout: { total: 100 } }))
    await clock.advance(0)
    expect(call).toEqual({ state: 'rejected', error })
  })

  it('ends with the reason of the signal before, during and between attempts', async () => {
    const reason = new Error('enough')
    const fn = vi.fn(() => Promise.reject(down()))
    expect(await rejection(retry(fn, { signal: AbortSignal.abort(reason) }))).toBe(reason)
    expect(fn).not.toHaveBeenCalled()
    for (const work of [fn, never]) {
      const clock = fakeClock()
      const controller = new AbortController()
      const call = fate(retry(work, { clock, signal: controller.signal }))
      await clock.advance(10)
      controller.abort(reason)
      await clock.advance(0)
      expect(call).toEqual({ state: 'rejected', error: reason })
      await clock.advance(10_000)
    }
    expect(fn).toHaveBeenCalledTimes(1)
  })

  it('gives the event loop a turn after a hundred attempts without a delay', async () => {
    const controller = new AbortController()
    setImmediate(() => controller.abort(new Error('enough')))
    const options = { ...IMMEDIATE, maxAttempts: Infinity, signal: controller.signal }
    expect(await rejection(retry(() => Promise.reject(down()), options))).toMatchObject({ message: 'enough' })
  })

  it.each([false, true])(
    'accepts a clock whose timers have no handle and run at once: %s',
    async (isImmediate) => {
      const clock = fakeClock()
      const delays: number[] = []
      let skipped = 0
      const call = fate(
        retry(({ number }) => (number < 3 ? Promise.reject(down()) : number), {
          baseDelay: 10,
          clock: {
            now: () => clock.now() + skipped,
            wall: clock.wall,
            clearTimer: () => {},
            setTimer(fn, ms) {
              delays.push(ms)
              if (isImmediate) {
                skipped += ms
                fn()
              } else clock.setTimer(fn, ms)
            },
          },
        }),
      )
      await clock.advance(100)
      expect(call).toEqual({ state: 'fulfilled', value: 3 })
      expect(delays).toEqual([10, 20])
    },
  )

  it('keeps the async context of its caller', async () => {
    const storage = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    await storage.run('a', () =>
      retry(
        ({ number }) => {
          seen.push(storage.getStore())
          if (number < 3) throw down()
        },
        { baseDelay: 1 },
      ),
    )
    expect(seen).toEqual(['a', 'a', 'a'])
  })

  it('accepts the retry options of presets', async () => {
    const { abortOn: _, ...options } = openai.retry
    expect(await retry(() => 1, options)).toBe(1)
    expect(await retry(() => 1, { ...postgres.retry, classify })).toBe(1)
  })

  it.each([
    [{ maxAttempts: 0 }, /maxAttempts/],
    [{ baseDelay: '5' }, /baseDelay/],
    [{ maxDelay: 1, baseDelay: 5 }, /maxDelay/],
    [{ retries: 5 }, /retries/],
    [{ timeout: { total: 0 } }, /timeout\.total/],
    [{ timeout: { totl: 5 } }, /timeout\.totl/],
    [{ retryOn: ['timeout'] }, /classify/],
    [{ abortOn: ['timeout'] }, /abortOn: .*classify/],
    [{ retryOn: ['sql:40'] }, /classify/],
    [{ abortOn: [7] }, /matcher/],
    [{ beforeRetry: () => {} }, /a guard/],
    [{ nested: 'stop' }, /a guard/],
    [5, /an object/],
  ])('rejects the invalid options %j and calls nothing', async (options, message) => {
    const fn = vi.fn()
    const error = await rejection(retry(fn, options as never))
    expect(error).toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(message) })
    expect(fn).not.toHaveBeenCalled()
  })
})

const runs = histories(500)
const seed = seedOf('retry makes the attempts of a guard at the same times')

it(`retry makes the attempts of a guard at the same times in ${runs} histories (SEED=${seed})`, async () => {
  const policy = fc.record({
    maxAttempts: fc.integer({ min: 1, max: 6 }),
    backoffType: fc.constantFrom('exponential', 'linear', 'fixed', 'immediate', 'fibonacci'),
    baseDelay: fc.integer({ min: 0, max: 100 }),
    maxDelay: fc.integer({ min: 100, max: 400 }),
    multiplier: fc.constantFrom(1, 1.5, 2),
    jitterType: fc.constantFrom('none', 'full', 'equal', 'decorrelated', 'proportional'),
    jitterAmount: fc.constantFrom(0, 0.1, 1),
  })
  const history = fc.record({
    retry: policy,
    statuses: fc.array(fc.constantFrom(200, 404, 429, 503), { minLength: 1, maxLength: 6 }),
    retryAfter: fc.constantFrom(undefined, 0, 40, 70_000),
    total: fc.constantFrom(Infinity, 150.37, 700.37),
    random: fc.integer(),
  })
  const play = async (
    call: (
      fn: (attempt: { number: number }) => unknown,
      clock: ReturnType<typeof fakeClock>,
    ) => Promise<unknown>,
    statuses: number[],
    retryAfter: number | undefined,
  ) => {
    const clock = fakeClock()
    const times: number[] = []
    const result = fate(
      call(({ number }) => {
        times.push(clock.now())
        const status = statuses[Math.min(number, statuses.length) - 1] as number
        if (status >= 400) throw errorWith({ status, retryAfter })
        return status
      }, clock),
    )
    await clock.advance(100_000)
    return {
      times,
      state: result.state,
      value: result.value,
      error: (result.error as { status?: number })?.status,
    }
  }
  await fc.assert(
    fc.asyncProperty(history, async ({ retry: options, statuses, retryAfter, total, random }) => {
      const timeout = { total }
      const alone = await play(
        (fn, clock) =>
          retry(fn, { ...(options as RetryOptions), timeout, clock, random: seededRandom(random) }),
        statuses,
        retryAfter,
      )
      const guarded = await play(
        (fn, clock) =>
          guard({ retry: options as RetryOptions, timeout, clock, random: seededRandom(random) }).run(fn),
        statuses,
        retryAfter,
      )
      expect(alone).toEqual(guarded)
    }),
    { seed, numRuns: runs },
  )
})
