import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RetryOptions } from '../../src/index.js'
import { computeDelay } from '../../src/retry/delay.js'
import { BACKOFF_TYPES, JITTER_TYPES } from '../../src/retry/options.js'
import { seededRandom } from '../../src/testing/index.js'
import { ALMOST_ONE, always, policy } from './policy.js'

const wait = (options: RetryOptions, chance: number, { n = 1, previous = 0 } = {}) =>
  computeDelay(policy(options), n, previous, always(chance))

const fixed = (options: RetryOptions): RetryOptions => ({
  backoffType: 'fixed',
  baseDelay: 1000,
  maxDelay: 10_000,
  ...options,
})

describe('no jitter', () => {
  it('uses no random number', () => {
    const random = () => {
      throw new Error('asked')
    }
    expect(computeDelay(policy(fixed({ jitterType: 'none', jitterAmount: 1 })), 1, 0, random)).toBe(1000)
  })
})

describe('full jitter draws from [(1-a)·d, d]', () => {
  it.each([
    [1, 0, 0],
    [1, 0.5, 500],
    [1, 0.75, 750],
    [0.4, 0, 600],
    [0.4, 0.5, 800],
    [0, 0.9, 1000],
  ])('a = %d, chance %d: %d ms', (jitterAmount, chance, expected) => {
    expect(wait(fixed({ jitterType: 'full', jitterAmount }), chance)).toBeCloseTo(expected, 6)
  })

  it('approaches the upper bound for a random number near 1', () => {
    expect(wait(fixed({ jitterType: 'full', jitterAmount: 0.4 }), ALMOST_ONE)).toBeCloseTo(1000, 6)
  })

  it('randomises a tenth of the delay by default', () => {
    expect(wait(fixed({ jitterType: 'full' }), 0)).toBeCloseTo(900, 6)
  })
})

describe('equal jitter draws from [(1-a/2)·d, d]', () => {
  it.each([
    [1, 0, 500],
    [1, 0.5, 750],
    [1, ALMOST_ONE, 1000],
    [0.4, 0, 800],
    [0.4, 0.5, 900],
    [0, 0.9, 1000],
  ])('a = %d, chance %d: %d ms', (jitterAmount, chance, expected) => {
    expect(wait(fixed({ jitterType: 'equal', jitterAmount }), chance)).toBeCloseTo(expected, 6)
  })
})

describe('decorrelated jitter is (1-a)·d + a·U[base, 3·previous]', () => {
  it.each([
    [1, 0, 2000, 1000],
    [1, 0.5, 2000, 3500],
    [1, ALMOST_ONE, 2000, 6000],
    [0.5, 0, 2000, 1000],
    [0.5, 0.5, 2000, 2250],
    [0, 0.9, 2000, 1000],
  ])('a = %d, chance %d, previous %d: %d ms', (jitterAmount, chance, previous, expected) => {
    expect(wait(fixed({ jitterType: 'decorrelated', jitterAmount }), chance, { previous })).toBeCloseTo(
      expected,
      6,
    )
  })

  it('mixes in the capped backoff of this retry, not of the first', () => {
    const options = fixed({ backoffType: 'exponential', jitterType: 'decorrelated', jitterAmount: 0.5 })
    expect(wait(options, 0, { n: 3, previous: 2000 })).toBeCloseTo(2000 + 500, 6)
  })

  it('is capped', () => {
    expect(wait(fixed({ jitterType: 'decorrelated', jitterAmount: 1 }), 0.9, { previous: 9000 })).toBe(10_000)
  })

  it('is baseDelay where three times the previous delay is less', () => {
    expect(wait(fixed({ jitterType: 'decorrelated', jitterAmount: 1 }), 0.9, { previous: 100 })).toBe(1000)
  })
})

describe('proportional jitter is d·U[1-a, 1+a]', () => {
  it.each([
    [0.5, 0, 500],
    [0.5, 0.5, 1000],
    [0.5, ALMOST_ONE, 1500],
    [1, 0, 0],
    [1, ALMOST_ONE, 2000],
    [0, 0.9, 1000],
  ])('a = %d, chance %d: %d ms', (jitterAmount, chance, expected) => {
    expect(wait(fixed({ jitterType: 'proportional', jitterAmount }), chance)).toBeCloseTo(expected, 6)
  })

  it('keeps its spread at the cap: d is capped at maxDelay/(1+a)', () => {
    const options = fixed({ backoffType: 'linear', jitterType: 'proportional', jitterAmount: 0.25 })
    expect(wait(options, 0, { n: 1000 })).toBeCloseTo(6000, 6)
    expect(wait(options, 0.5, { n: 1000 })).toBeCloseTo(8000, 6)
    expect(wait(options, ALMOST_ONE, { n: 1000 })).toBeCloseTo(10_000, 6)
  })
})

describe('additive jitter is d + U[jitterMin, jitterMax]', () => {
  const options = fixed({ jitterType: 'additive', jitterMin: 200, jitterMax: 600 })

  it.each([
    [0, 1200],
    [0.5, 1400],
    [ALMOST_ONE, 1600],
  ])('chance %d: %d ms', (chance, expected) => {
    expect(wait(options, chance)).toBeCloseTo(expected, 6)
  })

  it('ignores jitterAmount', () => {
    expect(wait({ ...options, jitterAmount: 1 }, 0.5)).toBe(1400)
  })

  it('keeps its spread at the cap: d is capped at maxDelay - jitterMax', () => {
    const long = { ...options, backoffType: 'linear' } satisfies RetryOptions
    expect(wait(long, 0, { n: 1000 })).toBe(9600)
    expect(wait(long, ALMOST_ONE, { n: 1000 })).toBeCloseTo(10_000, 6)
  })

  it('is capped where jitterMax alone is above the cap', () => {
    const tight = fixed({
      baseDelay: 10,
      maxDelay: 100,
      jitterType: 'additive',
      jitterMin: 50,
      jitterMax: 250,
    })
    expect(wait(tight, 0)).toBe(50)
    expect(wait(tight, 0.2)).toBe(90)
    expect(wait(tight, 0.5)).toBe(100)
  })

  it('is constant with equal bounds', () => {
    const same = fixed({ jitterType: 'additive', jitterMin: 300, jitterMax: 300 })
    expect([wait(same, 0), wait(same, ALMOST_ONE)]).toEqual([1300, 1300])
  })
})

describe('for any policy', () => {
  const delays = fc.oneof(
    { weight: 6, arbitrary: fc.double({ min: 0, max: 1e7, noNaN: true }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, Infinity),
    },
  )
  const anyPolicy = fc
    .record({
      backoffType: fc.constantFrom(...BACKOFF_TYPES, () => Number.POSITIVE_INFINITY),
      multiplier: fc.oneof(fc.double({ min: 1, max: 100, noNaN: true }), fc.constant(Infinity)),
      jitterType: fc.constantFrom(...JITTER_TYPES),
      jitterAmount: fc.double({ min: 0, max: 1, noNaN: true }),
      delays: fc.tuple(delays, delays),
      bounds: fc.tuple(delays, delays),
    })
    .map(({ delays: [a, b], bounds: [c, d], ...rest }) =>
      policy({
        ...rest,
        baseDelay: Math.min(a, b),
        maxDelay: Math.max(a, b),
        jitterMin: Math.min(c, d),
        jitterMax: Math.max(c, d),
      }),
    )
  const chance = fc.oneof(
    fc.constantFrom(0, ALMOST_ONE),
    fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  )
  const retry = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.constantFrom(1, 2, 1024, 10_000))

  it('a delay is finite, not negative and not above maxDelay', () => {
    fc.assert(
      fc.property(
        anyPolicy,
        retry,
        chance,
        fc.option(delays, { nil: undefined }),
        (given, n, drawn, before) => {
          const previous = Math.min(before ?? given.baseDelay, given.maxDelay)
          const ms = computeDelay(given, n, previous, always(drawn))
          return ms >= 0 && ms <= given.maxDelay && ms < Number.POSITIVE_INFINITY
        },
      ),
      { numRuns: 5000 },
    )
  })

  it('delays stay valid when each is the previous delay of the next', () => {
    fc.assert(
      fc.property(anyPolicy, fc.integer(), (given, seed) => {
        const random = seededRandom(seed)
        let previous = given.baseDelay
        for (let n = 1; n <= 200; n++) {
          previous = computeDelay(given, n, previous, random)
          if (!(previous >= 0 && previous <= given.maxDelay && previous < Number.POSITIVE_INFINITY))
            return false
        }
        return true
      }),
      { numRuns: 300 },
    )
  })
})

describe('at the cap, delays are randomised', () => {
  const spread = (options: RetryOptions) => {
    const given = policy({ baseDelay: 1000, maxDelay: 10_000, ...options })
    const random = seededRandom(1)
    const waits = Array.from({ length: 2000 }, () => computeDelay(given, 50, 10_000, random))
    return { least: Math.min(...waits), most: Math.max(...waits), different: new Set(waits).size }
  }

  it.each([
    ['full', { jitterType: 'full', jitterAmount: 1 }, 0, 10_000],
    ['equal', { jitterType: 'equal', jitterAmount: 1 }, 5000, 10_000],
    ['proportional', { jitterType: 'proportional', jitterAmount: 0.5 }, 10_000 / 3, 10_000],
    ['additive', { jitterType: 'additive', jitterMin: 0, jitterMax: 3000 }, 7000, 10_000],
  ] as const)('by %s jitter over its whole range', (_, options, low, high) => {
    const { least, most, different } = spread(options)
    expect(least).toBeGreaterThanOrEqual(low)
    expect(least).toBeLessThan(low + 100)
    expect(most).toBeLessThanOrEqual(high)
    expect(most).toBeGreaterThan(high - 100)
    expect(different).toBeGreaterThan(1900)
  })
})
