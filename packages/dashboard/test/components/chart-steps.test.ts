import { HOUR_MS, MINUTE_MS } from '@holdfast/records/constants'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stepLength, timeSteps } from '../../src/pages/operations/steps.js'

describe('the steps of the chart', () => {
  it('are hours for a day and minutes for an hour', () => {
    expect(stepLength({ from: 0, to: 24 * HOUR_MS })).toBe(HOUR_MS)
    expect(stepLength({ from: 0, to: 6 * HOUR_MS })).toBe(6 * MINUTE_MS)
    expect(stepLength({ from: 0, to: HOUR_MS })).toBe(MINUTE_MS)
    expect(stepLength({ from: 0, to: 3000 })).toBe(MINUTE_MS)
  })

  it('cover a time range without gaps in at most about sixty steps', () => {
    const span = fc.tuple(fc.integer({ min: 1, max: 1e12 }), fc.integer({ min: 1, max: 24 * HOUR_MS }))
    fc.assert(
      fc.property(span, ([from, length]) => {
        const steps = timeSteps({ from, to: from + length })
        expect(steps.length).toBeLessThanOrEqual(62)
        expect(steps[0]?.from).toBeLessThanOrEqual(from)
        expect(steps.at(-1)?.to).toBeGreaterThanOrEqual(from + length)
        for (const [index, step] of steps.entries())
          if (index > 0) expect(step.from).toBe(steps[index - 1]?.to)
      }),
    )
  })
})
