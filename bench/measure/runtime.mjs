// What the runtime costs beside the engine alone.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Holdfast } from '@holdfast/runtime'
import { guard } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { failFresh } from '../work.mjs'

const POLICY = /** @type {const} */ ({ maxAttempts: 3, backoffType: 'immediate' })
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** @param {string} [store] */
export const open = (store) =>
  Holdfast.open({ config: { policies: { quick: POLICY } }, ...(store && { store }) })

/** A folder of its own for `use`. @template T @param {(dir: string) => Promise<T>} use */
async function inFolder(use) {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  try {
    return await use(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Microseconds of the processor for each of `calls` failing calls, with turns between so that records are written. */
async function cpu(/** @type {() => Promise<unknown>} */ call, calls = 4000) {
  const before = process.cpuUsage()
  for (let i = 0; i < calls; i++) {
    await call().catch(() => {})
    if (i % 50 === 0) await turn()
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}

/** Nanoseconds of the processor that a failed call costs beyond the engine's own. @param {'memory' | 'sqlite'} kind */
export async function failures(kind) {
  return inFolder(async (dir) => {
    const hf = await open(kind === 'memory' ? 'memory' : `sqlite:${join(dir, 'bench.db')}`)
    const bare = guard({ name: 'quick', retry: POLICY })
    const beyond = []
    for (let round = 0; round < 6; round++) {
      const engine = await cpu(() => bare.run(failFresh))
      const runtime = await cpu(() => hf.run('quick', failFresh))
      // The first round is for the compiler.
      if (round > 0) beyond.push((runtime - engine) * 1000)
    }
    await hf.close()
    return { beyond }
  })
}

const DAY_MINUTES = 1440

/** Milliseconds of queries over a day in which every minute counted calls of 20 policies and failures. */
export async function queries() {
  const clock = fakeClock({ wall: Date.UTC(2026, 0, 1) })
  const policies = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`p${i}`, POLICY]))
  const hf = await Holdfast.open({ config: { policies }, clock })
  for (let minute = 0; minute < DAY_MINUTES; minute++) {
    for (let i = 0; i < 60; i++) await hf.run(`p${i % 20}`, async () => 1)
    await hf.run(`p${minute % 20}`, failFresh).catch(() => {})
    await clock.advance(60_000)
  }
  const to = new Date(clock.wall())
  const from = new Date(to.getTime() - 24 * 3_600_000)
  /** @type {Record<string, number[]>} */
  const samples = { window: [], series: [], summary: [] }
  const timed = async (/** @type {string} */ key, /** @type {() => Promise<unknown>} */ ask) => {
    const start = performance.now()
    await ask()
    samples[key]?.push(performance.now() - start)
  }
  for (let i = 0; i < 30; i++) {
    await timed('window', () => hf.metrics.window({ from, to }))
    await timed('series', () => hf.metrics.timeseries({ hours: 24 }))
    await timed('summary', () => hf.metrics.summary())
  }
  const closing = hf.close()
  await clock.advance(20_000)
  await closing
  return samples
}

/** Reloads of a file with 1,000 policies: how long until it is in force, and the longest stall of calls meanwhile. */
export async function reloads() {
  return inFolder(async (dir) => {
    const file = join(dir, 'holdfast.yaml')
    const text = (/** @type {number} */ delay) =>
      `version: "1.1.0"\nstore: memory\npolicies:\n${Array.from(
        { length: 1000 },
        (_, i) =>
          `  policy_${i}:\n    name: Policy ${i}\n    max_attempts: 4\n    backoff_type: exponential\n    base_delay: ${delay}\n    max_delay: 30\n    retryable_exceptions: [TimeoutError, ConnectionError]\n`,
      ).join('')}`
    writeFileSync(file, text(1))
    const hf = await Holdfast.open({ config: file, watch: false })
    /** @type {Record<string, number[]>} */
    const samples = { reload: [], stall: [] }
    for (let i = 0; i < 6; i++) {
      writeFileSync(file, text(2 + i))
      let running = true
      let stall = 0
      const calls = (async () => {
        let last = performance.now()
        while (running) {
          await hf.run('policy_1', async () => 1)
          await turn()
          const now = performance.now()
          stall = Math.max(stall, now - last)
          last = now
        }
      })()
      const start = performance.now()
      await hf.config.reload()
      const took = performance.now() - start
      running = false
      await calls
      if (i === 0) continue
      samples.reload?.push(took)
      samples.stall?.push(stall)
    }
    await hf.close()
    return samples
  })
}

/** Bytes of the heap that 10,000 attempts and 100 breakers take, and what another million calls add. */
export async function memory() {
  const circuitBreakers = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`b${i}`, {}]))
  const hf = await Holdfast.open({ config: { policies: { quick: POLICY }, circuitBreakers } })
  const heap = async () => {
    await turn()
    globalThis.gc?.()
    return process.memoryUsage().heapUsed
  }
  await hf.run('quick', async () => 1)
  const before = await heap()
  for (let i = 0; i < 10_000; i++) await hf.run('quick', async () => 1, { service: `b${i % 100}` })
  const held = (await heap()) - before
  for (let i = 0; i < 1_000_000; i++) {
    await hf.run('quick', async () => 1)
    if (i % 10_000 === 0) await turn()
  }
  const grown = Math.max(0, (await heap()) - before - held)
  await hf.close()
  return { held: [held], grown: [grown] }
}
