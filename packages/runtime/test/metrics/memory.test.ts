import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { sourceAliases } from '../../../../scripts/packages.mjs'

/** Counted in a process of its own, because what other tests leave behind would be counted too. */
const script = `
import { Metrics } from './src/metrics/metrics.ts'
const clock = { time: 0, now: () => clock.time, wall: () => 1767261600000 + clock.time, setTimer() {}, clearTimer() {} }
const used = async () => {
  for (let i = 0; i < 4; i++) {
    gc()
    await new Promise(setImmediate)
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
// What the engine compiles once is no part of it.
function load(metrics, calls, members) {
  const recorders = ['a', 'b', 'c', 'd', 'e'].map((id) => metrics.recorderFor(id, 'sub-' + id))
  for (let i = 0; i < calls; i++) {
    clock.time += 3
    const recorder = recorders[i % 5]
    if (i % 4 === 0) {
      recorder.recordAttempt(false, i % 900, 'timeout')
      recorder.recordAttempt(true, i % 700)
      recorder.recordCallEnd({ success: true, attempts: 2, duration: 900 })
    } else recorder.recordFirstAttemptSuccess(clock.time - 2)
    if (i % 10 === 0) metrics.recordMemberAttempt('pool', 'm' + (i / 10) % members, true, 5)
    if (i % 1000 === 0) metrics.recordBreakerChange({ id: 'pool:pool:m' + (i / 1000) % members, toState: 'open' })
  }
}
load(new Metrics(clock), 50000, 100)
const before = await used()
const metrics = new Metrics(clock)
load(metrics, 10000, 100)
const small = await used() - before
load(metrics, 200000, 100)
const middle = await used() - before
load(metrics, 1000000, 100)
const large = await used() - before
console.log(JSON.stringify({ small, middle, large, sessions: metrics.window({ from: new Date(0), to: new Date(9e12) }).totalSessions }))
`

it('metrics use less than 2.5 MB for 10,000 attempts and 100 breakers, and not more for a million calls', async () => {
  const dir = fileURLToPath(new URL('../..', import.meta.url))
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: dir, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    alias: sourceAliases,
  })
  const code = outputFiles[0]?.text ?? ''
  const told = JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', '--input-type=module'], { input: code, encoding: 'utf8' }),
  ) as { small: number; middle: number; large: number; sessions: number }
  expect(told.sessions).toBe(1_210_000)
  expect(told.small).toBeLessThan(2.5e6)
  expect(told.large).toBeLessThan(2.5e6)
  // A byte for each of the million calls would be as much; less is the garbage collector's.
  expect(told.large - told.middle).toBeLessThan(1e6)
})
