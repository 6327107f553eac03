import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Backoff, RetryOptions } from '../../src/index.js'
import { backoff, computeDelay } from '../../src/retry/delay.js'
import { always, policy } from './policy.js'

const first = (count: number, options: RetryOptions) =>
  Array.from({ length: count }, (_, i) => computeDelay(policy(options), i + 1, 0, always(0.5)))

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

const wide = { baseDelay: 100, maxDelay: Number.POSITIVE_INFINITY } satisfies RetryOptions

describe('a delay grows', () => {
  it('exponentially: base, base·2, base·4 …', () => {
    expect(first(5, { ...wide, backoffType: 'exponential' })).toEqual([100, 200, 400, 800, 1600])
  })

  it('exponentially by the multiplier', () => {
    expect(first(4, { ...wide, backoffType: 'exponential', multiplier: 3 })).toEqual([100, 300, 900, 2700])
  })

  it('not at all with a multiplier of 1', () => {
    expect(first(4, { ...wide, backoffType: 'exponential', multiplier: 1 })).toEqual([100, 100, 100, 100])
  })

  it('to the cap at the second retry with a multiplier of Infinity', () => {
    const options = { baseDelay: 100, maxDelay: 5000, multiplier: Number.POSITIVE_INFINITY }
    expect(first(3, options)).toEqual([100, 5000, 5000])
  })

  it('linearly: base, base·2, base·3 …, regardless of the multiplier', () => {
    expect(first(5, { ...wide, backoffType: 'linear', multiplier: 7 })).toEqual([100, 200, 300, 400, 500])
  })

  it('not at all when fixed', () => {
    expect(first(5, { ...wide, backoffType: 'fixed' })).toEqual([100, 100, 100, 100, 100])
  })

  it('never from 0 when immediate, regardless of the base', () => {
    expect(first(5, { ...wide, backoffType: 'immediate' })).toEqual([0, 0, 0, 0, 0])
  })

  it('by fibonacci: base × 1, 2, 3, 5, 8, 13', () => {
    expect(first(6, { ...wide, backoffType: 'fibonacci' })).toEqual([100, 200, 300, 500, 800, 1300])
  })
})

describe('a delay is capped', () => {
  it.each([
    ['exponential', [1000, 2000, 2500, 2500]],
    ['linear', [1000, 2000, 2500, 2500]],
    ['fixed', [1000, 1000, 1000, 1000]],
    ['fibonacci', [1000, 2000, 2500, 2500]],
  ] as const)('at maxDelay when %s', (backoffType, waits) => {
    expect(first(4, { backoffType, baseDelay: 1000, maxDelay: 2500 })).toEqual(waits)
  })

  it('at base when maxDelay is the same', () => {
    expect(first(3, { baseDelay: 700, maxDelay: 700 })).toEqual([700, 700, 700])
  })

  it('at 0 when maxDelay is 0', () => {
    expect(first(2, { baseDelay: 0, maxDelay: 0, backoffType: () => 500 })).toEqual([0, 0])
  })

  it('where a function returns more', () => {
    expect(first(1, { maxDelay: 1500, backoffType: () => '1h' })).toEqual([1500])
  })
})

describe.each(['exponential', 'linear', 'fixed', 'immediate', 'fibonacci'] as const)(
  'for n up to 10,000, %s backoff',
  (backoffType) => {
    // The first ones, those around the largest numbers, and the last.
    const everyN = [
      ...range(1, 100),
      ...range(1000, 1100),
      ...range(1470, 1480),
      5000,
      ...range(9999, 10_000),
    ]

    it('is finite and not negative without a cap', () => {
      const endless = policy({ backoffType, baseDelay: 100, maxDelay: Number.POSITIVE_INFINITY })
      const odd = everyN.filter((n) => {
        const wait = computeDelay(endless, n, 100, always(0.5))
        return !(wait >= 0 && wait < Number.POSITIVE_INFINITY)
      })
      expect(odd).toEqual([])
    })

    it('never shrinks', () => {
      const growing = policy({ backoffType, baseDelay: 100, maxDelay: Number.POSITIVE_INFINITY })
      const waits = everyN.map((n) => computeDelay(growing, n, 100, always(0)))
      expect(waits.filter((wait, i) => wait < (waits[i - 1] ?? 0))).toEqual([])
    })

    it('is 0 from a base of 0', () => {
      const none = policy({ backoffType, baseDelay: 0, multiplier: 10, maxDelay: Number.POSITIVE_INFINITY })
      expect(everyN.filter((n) => computeDelay(none, n, 0, always(0.5)) !== 0)).toEqual([])
    })

    it('is finite from a base of Infinity', () => {
      const endless = policy({
        backoffType,
        baseDelay: Number.POSITIVE_INFINITY,
        maxDelay: Number.POSITIVE_INFINITY,
      })
      const odd = [1, 2, 10_000].filter((n) => !Number.isFinite(computeDelay(endless, n, 0, always(0.5))))
      expect(odd).toEqual([])
    })
  },
)

describe('a backoff function', () => {
  let said: ReturnType<typeof vi.spyOn>
  beforeEach(() => {
    said = vi.spyOn(console, 'error').mockImplementation(() => {})
  })
  afterEach(() => said.mockRestore())

  const ask = (fn: Backoff) => backoff(policy({ backoffType: fn, baseDelay: 250 }), 1, undefined, 0)
  const loose = (value: unknown) => (() => value) as Backoff

  it('gets the number of the retry, the error and the previous delay', () => {
    const fn = vi.fn(() => 5)
    const error = new Error('down')
    backoff(policy({ backoffType: fn }), 3, error, 42)
    expect(fn.mock.calls).toEqual([[3, error, 42]])
  })

  it.each([
    ['milliseconds', 30, 30],
    ['a fraction of one', 0.5, 0.5],
    ["a string such as '2s'", '2s', 2000],
    ["a string such as '1.5m'", '1.5m', 90_000],
    ['0', 0, 0],
    ['Infinity, which the cap cuts', Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])('can return %s', (_, returned, wait) => {
    expect(ask(loose(returned))).toBe(wait)
  })

  it.each([
    ['NaN', Number.NaN],
    ['a negative number', -1],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['undefined', undefined],
    ['null', null],
    ['a string that is not a duration', 'soon'],
    ['a number in a string', '5'],
    ['a negative duration', '-5s'],
    ['an object', {}],
    ['a bigint', 5n],
  ])('that returns %s causes a delay of 0', (_, returned) => {
    expect(ask(loose(returned))).toBe(0)
  })

  it('that throws causes a delay of baseDelay', () => {
    const broken = () => {
      throw new Error('bad maths')
    }
    expect(ask(broken)).toBe(250)
  })

  it('that throws is reported once, with the thrown error', () => {
    const thrown = new Error('bad maths')
    const broken = () => {
      throw thrown
    }
    ask(broken)
    ask(broken)
    expect(said.mock.calls).toEqual([[expect.stringMatching(/the backoff function threw/), thrown]])
  })

  it('decides even when the base is 0', () => {
    expect(backoff(policy({ backoffType: () => 70, baseDelay: 0 }), 1, undefined, 0)).toBe(70)
  })
})
