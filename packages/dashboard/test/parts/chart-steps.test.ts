import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, stepOf, stepsOf } from '../../src/views/overview/steps.js'

describe('the steps of the chart', () => {
  it('are hours for a day and minutes for an hour', () => {
    expect(stepOf({ from: 0, to: 24 * HOUR })).toBe(HOUR)
    expect(stepOf({ from: 0, to: 6 * HOUR })).toBe(6 * MINUTE)
    expect(stepOf({ from: 0, to: HOUR })).toBe(MINUTE)
    expect(stepOf({ from: 0, to: 3000 })).toBe(MINUTE)
  })

  it('cover a stretch of time without gaps, in sixty or so', () => {
    const span = fc.tuple(fc.integer({ min: 1, max: 1e12 }), fc.integer({ min: 1, max: 24 * HOUR }))
    fc.assert(
      fc.property(span, ([from, length]) => {
        const steps = stepsOf({ from, to: from + length })
        expect(steps.length).toBeLessThanOrEqual(62)
        expect(steps[0]?.from).toBeLessThanOrEqual(from)
        expect(steps.at(-1)?.to).toBeGreaterThanOrEqual(from + length)
        for (const [index, step] of steps.entries())
          if (index > 0) expect(step.from).toBe(steps[index - 1]?.to)
      }),
    )
  })
})
