import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { generateScenario } from '../src/scenario/generate.js'
import { simulate } from '../src/simulate.js'
import { runCommand } from './run-command.js'

// Some minutes of work, which take longer on a busy machine.
const SEEDS_TIMEOUT_MS = 2_400_000

// The gate simulates the seeds 1 to 100 with the same command.
it('finds no violation in a seed', { timeout: SEEDS_TIMEOUT_MS }, async () => {
  const { code, output } = await runCommand('run.mjs', '--from', '101', '--seeds', '1')
  expect(output).toContain('1 of 1 seeds')
  expect(output).toContain('no violation')
  expect(code).toBe(0)
})

it('counts only calls that were made and faults that had an effect', {
  timeout: SEEDS_TIMEOUT_MS,
}, async () => {
  const scenario = generateScenario(1)
  const partition = { kind: 'partition', node: 0, server: 'redis' } as const
  const { load, faultsByKind } = await simulate({
    ...scenario,
    calls: scenario.calls.slice(0, 20),
    // The first one is too short for any packet.
    faults: [
      { at: 60_000, ...partition, ms: 0 },
      { at: 61_000, ...partition, ms: 30_000 },
    ],
  })
  expect(load.nodes).toBe(scenario.nodes)
  expect(load.calls).toBeGreaterThan(10)
  expect(load.calls).toBeLessThanOrEqual(20)
  expect(load.faults).toBe(1)
  expect([...faultsByKind]).toEqual([['partition', 1]])
})

it('rejects a file that is not a scenario', { timeout: SEEDS_TIMEOUT_MS }, async () => {
  const file = fileURLToPath(new URL('tsconfig.json', import.meta.url))
  const { code, output } = await runCommand('run.mjs', '--scenario', file)
  expect(output).toContain(`--scenario ${file}: extends: expected a field of seed, nodes`)
  expect(code).toBe(2)
})
