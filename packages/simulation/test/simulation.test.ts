import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { generateScenario } from '../src/scenario/generate.js'
import { simulate } from '../src/simulate.js'

/** Runs the command, and returns its exit code and its output. */
function runSimulation(...args: string[]): Promise<{ code: number | null; output: string }> {
  const command = fileURLToPath(new URL('../run.mjs', import.meta.url))
  const child = spawn(process.execPath, [command, ...args])
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      output += data.toString()
    })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, output })))
}

// A minute of work, which takes longer on a busy machine.
const SEEDS_TIMEOUT_MS = 900_000

it('keeps all promises with 100 seeds', { timeout: SEEDS_TIMEOUT_MS }, async () => {
  const { code, output } = await runSimulation('--seeds', '100')
  expect(output).toContain('no violation')
  expect(code).toBe(0)
})

it('has at least 3 nodes, 2,000 calls and 50 faults in every scenario', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const { nodes, calls, faults } = generateScenario(seed)
    expect(nodes).toBeGreaterThanOrEqual(3)
    expect(calls.length).toBeGreaterThanOrEqual(2000)
    expect(faults.length).toBeGreaterThanOrEqual(50)
  }
})

it('does exactly the same when a seed is repeated', async () => {
  const first = await simulate(generateScenario(7))
  const second = await simulate(generateScenario(7), { record: true })
  expect(second.digest).toBe(first.digest)
  expect(second.events).toBe(first.events)
  expect(second.lines.length).toBeGreaterThan(2000)
  const other = await simulate(generateScenario(8))
  expect(other.digest).not.toBe(first.digest)
})
