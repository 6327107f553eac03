import { expect, it } from 'vitest'
import { describeDifference } from '../src/repeat.js'
import { generateScenario } from '../src/scenario/generate.js'
import type { Simulate } from '../src/simulate.js'
import { emptyResult } from './empty-result.js'

// The gate repeats seeds with the same function: `--repeat-every`.
it('quotes the first line that differs', async () => {
  let events = 0
  const simulateScenario: Simulate = async (_, { record = false }) => {
    events++
    const lines = record ? ['the same line', `event ${events}`, 'the end'] : []
    return { ...emptyResult(1), events, digest: `${events}`, lines }
  }
  const first = await simulateScenario(generateScenario(1), {})
  expect(await describeDifference(first, generateScenario(1), { simulateScenario })).toBe(
    'a second simulation has another history (1 events, and then 2): line 2 is "event 3", and then "event 4"',
  )
})

it('finds no difference if the events and their digest are equal', async () => {
  const simulateScenario: Simulate = async () => ({ ...emptyResult(1), events: 5, digest: 'a' })
  const first = await simulateScenario(generateScenario(1), {})
  expect(await describeDifference(first, generateScenario(1), { simulateScenario })).toBeUndefined()
  expect(
    await describeDifference({ ...first, digest: 'b' }, generateScenario(1), { simulateScenario }),
  ).toContain('simulations that record their lines do not differ')
})
