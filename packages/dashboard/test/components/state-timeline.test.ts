import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { summarizeSegments, timelineSegments } from '../../src/pages/breakers/state-timeline.js'

const change = (at: number, from_state: string, to_state: string) =>
  ({ from_state, to_state, timestamp: new Date(at).toISOString() }) as never

describe('the state timeline of a breaker', () => {
  it('has one segment without changes', () => {
    expect(timelineSegments('closed', [], 0, 1000)).toEqual([{ state: 'closed', from: 0, to: 1 }])
  })

  it('has a segment for the duration of each state', () => {
    const changes = [change(750, 'open', 'half_open'), change(250, 'closed', 'open')]
    expect(timelineSegments('half_open', changes, 0, 1000)).toEqual([
      { state: 'closed', from: 0, to: 0.25 },
      { state: 'open', from: 0.25, to: 0.75 },
      { state: 'half_open', from: 0.75, to: 1 },
    ])
  })

  it('omits changes before its beginning', () => {
    const changes = [
      change(1500, 'open', 'closed'),
      change(500, 'closed', 'open'),
      change(100, 'open', 'closed'),
    ]
    expect(timelineSegments('closed', changes, 1000, 2000)).toEqual([
      { state: 'open', from: 0, to: 0.5 },
      { state: 'closed', from: 0.5, to: 1 },
    ])
  })

  it('has no segment for the time that is not known', () => {
    expect(timelineSegments('open', [change(750, 'half_open', 'open')], 0, 1000, 500)).toEqual([
      { state: 'half_open', from: 0.5, to: 0.75 },
      { state: 'open', from: 0.75, to: 1 },
    ])
    expect(timelineSegments('closed', [], 0, 1000, 2000)).toEqual([])
  })

  it('has no gaps and no overlaps for any history', () => {
    const states = fc.constantFrom('closed', 'open', 'half_open')
    const history = fc.array(fc.tuple(fc.integer({ min: -500, max: 1500 }), states, states), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(history, (given) => {
        const changes = given.toSorted((a, b) => b[0] - a[0]).map((one) => change(...one))
        const segments = timelineSegments('closed', changes, 0, 1000)
        expect(segments[0]?.from).toBe(0)
        expect(segments.at(-1)?.to).toBe(1)
        for (const [index, { from, to }] of segments.entries()) {
          expect(to).toBeGreaterThan(from)
          if (index > 0) expect(from).toBe(segments[index - 1]?.to)
        }
      }),
    )
  })

  it('is summarized in words', () => {
    expect(summarizeSegments(timelineSegments('open', [change(750, 'closed', 'open')], 0, 1000))).toBe(
      'closed 75 %, open 25 %',
    )
  })
})
