import { expect, it } from 'vitest'
import { Violation } from '../src/engine/violation.js'
import { formatFailure } from '../src/report.js'
import { generateScenario } from '../src/scenario/generate.js'
import type { Scenario } from '../src/scenario/scenario.js'
import { shrink } from '../src/shrink.js'
import { type Simulate, simulate } from '../src/simulate.js'
import { emptyResult } from './empty-result.js'

const SCENARIO = generateScenario(1)
/** Replaces a simulation by one whose violation depends only on the faults and calls of its scenario. */
const simulationThat =
  (invariantOf: (scenario: Scenario) => string | undefined, runs: Scenario[] = []): Simulate =>
  async (scenario, { record = false }) => {
    runs.push(scenario)
    const invariant = invariantOf(scenario)
    return {
      ...emptyResult(1),
      violation: invariant === undefined ? undefined : new Violation(invariant, 'an entry'),
      lines: record ? ['the trace'] : [],
    }
  }

async function shrinkWith(simulateScenario: Simulate, maxRuns?: number) {
  const result = await simulateScenario(SCENARIO, {})
  return shrink({ scenario: SCENARIO, result }, { simulateScenario, maxRuns })
}

it('removes all calls and faults that a violation does not need', async () => {
  const fault = SCENARIO.faults[17]
  const [first, second] = [SCENARIO.calls[3], SCENARIO.calls[900]]
  const needed = ({ faults, calls }: Scenario) =>
    faults.includes(fault as never) && calls.includes(first as never) && calls.includes(second as never)
  const reduced = await shrinkWith(
    simulationThat((scenario) => (needed(scenario) ? 'lost' : undefined)),
    10_000,
  )
  expect(reduced.scenario.faults).toEqual([fault])
  expect(reduced.scenario.calls).toEqual([first, second])
  expect(reduced.result.violation?.invariant).toBe('lost')
  expect(reduced.result.lines).toEqual(['the trace'])
})

it('keeps a scenario that violates another invariant if a part is removed', async () => {
  const isComplete = ({ faults, calls }: Scenario) =>
    faults.length === SCENARIO.faults.length && calls.length === SCENARIO.calls.length
  const reduced = await shrinkWith(simulationThat((scenario) => (isComplete(scenario) ? 'lost' : 'lease')))
  expect(reduced.scenario).toEqual(SCENARIO)
})

it('ends after a number of simulations, with the smallest scenario so far', async () => {
  const runs: Scenario[] = []
  const reduced = await shrinkWith(
    simulationThat(() => 'lost', runs),
    2,
  )
  // The first simulation of the scenario, the two of the reduction, and the one that records the result.
  expect(runs).toHaveLength(4)
  expect(reduced.scenario.faults).toEqual([])
  expect(reduced.scenario.calls).toHaveLength(SCENARIO.calls.length)
})

it('reports the rest of a scenario that a simulation has reduced', { timeout: 2_400_000 }, async () => {
  // An upstream that never recovers keeps its breaker open, so that the nodes do not come to rest.
  const outage = { at: 2_390_000, kind: 'upstream_down', operation: 'mail', ms: 2_000_000 } as const
  const failing = {
    ...SCENARIO,
    calls: SCENARIO.calls.slice(0, 50),
    faults: [...SCENARIO.faults.slice(0, 3), outage],
  }
  const result = await simulate(failing, { parts: [] })
  expect(result.violation?.invariant).toBe('converges')
  const reduced = await shrink({ scenario: failing, result }, { maxRuns: 3, parts: [] })
  expect(reduced.result.violation?.invariant).toBe('converges')
  expect(reduced.scenario.faults.length + reduced.scenario.calls.length).toBeLessThan(54)
  const report = formatFailure(reduced, 'seed-1.json')
  expect(report).toContain('upstream_down operation=mail')
  expect(report).toContain('--scenario seed-1.json')
})
