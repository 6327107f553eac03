import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { camelKey, createCodec, snakeKey } from '../../src/codec/case-codec.js'
import { countOrInfinity, durationSeconds, timestamp, userObject } from '../../src/codec/record-fields.js'
import { policyCodec } from '../../src/policy.js'

const schema = z.object({
  base_delay: durationSeconds(),
  at_time: timestamp().nullish(),
  max_attempts: countOrInfinity().optional(),
  by_policy: z.record(z.string(), z.object({ success_rate: z.number() })),
  context: userObject().optional(),
  all_parts: z.array(z.object({ a_b: durationSeconds() })).optional(),
})
const both = createCodec(schema)

describe('a codec', () => {
  it('converts keys, durations and times, and does not change data of users', () => {
    const wire = {
      base_delay: 1.1,
      at_time: '2026-01-29T12:00:00.000Z',
      max_attempts: 'Infinity' as const,
      by_policy: { some_id: { success_rate: 1 } },
      context: { user_key: { inner_key: 1 } },
      all_parts: [{ a_b: 2 }],
    }
    const record = both.decode(wire)
    expect(record).toEqual({
      baseDelay: 1100,
      atTime: new Date('2026-01-29T12:00:00.000Z'),
      maxAttempts: Number.POSITIVE_INFINITY,
      byPolicy: { some_id: { successRate: 1 } },
      context: { user_key: { inner_key: 1 } },
      allParts: [{ aB: 2000 }],
    })
    expect(both.encode(record)).toEqual(wire)
  })

  it('writes durations without rounding errors', () => {
    for (const [ms, wire] of [
      [1.1 * 1000, 1.1],
      [100 * 1.1, 0.11],
      [100.1 + 200.2, 0.3003],
      [0.1 + 0.2, 0.0003],
    ] as const)
      expect(both.encode({ baseDelay: ms, byPolicy: {} }).base_delay).toBe(wire)
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (micros) => {
        const wire = { base_delay: micros / 1e6, by_policy: {} }
        expect(both.encode(both.decode(wire))).toEqual(wire)
      }),
    )
  })

  it('omits absent fields and keeps null', () => {
    const record = both.decode({ base_delay: 0, at_time: null, by_policy: {} })
    expect(record).toEqual({ baseDelay: 0, atTime: null, byPolicy: {} })
    expect(both.encode(record)).toEqual({ base_delay: 0, at_time: null, by_policy: {} })
  })

  it('keeps unknown fields of a loose schema only', () => {
    const wire = { a_b: 1, unknown_key: 2 }
    expect(createCodec(z.looseObject({ a_b: z.number() })).decode(wire)).toEqual({ aB: 1, unknown_key: 2 })
    expect(createCodec(z.object({ a_b: z.number() })).decode(wire)).toEqual({ aB: 1 })
  })

  it('rejects a value that the schema does not accept', () => {
    expect(() => both.decode({ base_delay: -1, by_policy: {} })).toThrow()
    expect(both.safeDecode({ by_policy: {} }).success).toBe(false)
    expect(policyCodec.safeDecode({ id: 'x' }).success).toBe(false)
  })

  it('keeps any duration to the microsecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (micros) => {
        const record = { baseDelay: micros / 1000, byPolicy: {} }
        expect(both.decode(both.encode(record)).baseDelay).toBeCloseTo(micros / 1000, 3)
      }),
    )
  })

  it('writes any time like toISOString', () => {
    fc.assert(
      fc.property(fc.array(fc.date({ noInvalidDate: true })), (dates) => {
        for (const date of dates)
          expect(both.encode({ baseDelay: 0, atTime: date, byPolicy: {} }).at_time).toBe(date.toISOString())
      }),
    )
    expect(() => both.encode({ baseDelay: 0, atTime: new Date(Number.NaN), byPolicy: {} })).toThrow(
      RangeError,
    )
  })

  it('converts keys in both directions', () => {
    for (const key of ['session_id', 'p50', 'opened_in_a_row', 'success_by_attempt'])
      expect(snakeKey(camelKey(key))).toBe(key)
  })
})
