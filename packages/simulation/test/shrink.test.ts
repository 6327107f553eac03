import { expect, it } from 'vitest'
import { formatFailure } from '../src/report.js'
import { generateScenario } from '../src/scenario/generate.js'
import { shrink } from '../src/shrink.js'
import { simulate } from '../src/simulate.js'

it('reduces a failing scenario to a few calls and faults', { timeout: 2_400_000 }, async () => {
  const scenario = generateScenario(1)
  // An upstream that never recovers keeps its breaker open, so that the nodes do not come to rest.
  const outage = { at: 2_390_000, kind: 'upstream_down', operation: 'mail', ms: 2_000_000 } as const
  const failing = { ...scenario, faults: [...scenario.faults, outage] }
  const result = await simulate(failing)
  expect(result.violation?.invariant).toBe('converges')
  const reduced = await shrink({ scenario: failing, result }, { maxRuns: 12 })
  expect(reduced.result.violation?.invariant).toBe('converges')
  expect(reduced.scenario.faults.length).toBeLessThan(failing.faults.length / 4)
  const report = formatFailure(reduced, 'seed-1.json')
  expect(report).toContain('upstream_down operation=mail')
  expect(report).toContain('--scenario seed-1.json')
})
