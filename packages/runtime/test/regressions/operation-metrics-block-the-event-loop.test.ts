// A query of 500 operations took 110 ms in one turn of the event loop for an hour by minute, and a second for a day.
import { fakeClock } from 'holdfast/testing'
import { expect, it, onTestFinished } from 'vitest'
import { Metrics } from '../../src/metrics/metrics.js'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 29)

/** Counts the turns of the event loop until the test ends. */
function countTurns(): { turns: number } {
  const counter = { turns: 0 }
  let next = setImmediate(function count() {
    counter.turns++
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  return counter
}

async function queryTurns(operations: number, minutes: number): Promise<number> {
  const clock = fakeClock({ wall: START })
  const metrics = new Metrics(clock)
  const recorders = Array.from({ length: operations }, (_, i) =>
    metrics.recorderFor('p', undefined, `operation ${i}`),
  )
  for (let minute = 0; minute < minutes; minute++) {
    for (const recorder of recorders) recorder.recordCallEnd({ success: true, attempts: 2, duration: minute })
    await clock.advance(MINUTE)
  }
  const counter = countTurns()
  const result = await metrics.operations({ from: new Date(START), to: new Date(clock.wall()) })
  expect(result.total.calls).toBe(operations * minutes)
  expect(result.operations).toHaveLength(operations)
  return counter.turns
}

it('gives the event loop a turn for each operation', async () => {
  expect(await queryTurns(500, 3)).toBeGreaterThanOrEqual(500)
})

it('gives the event loop turns within the points of one operation', async () => {
  expect(await queryTurns(1, 1000)).toBeGreaterThanOrEqual(20)
})
