// How long the event loop of a runtime with a SQLite store is blocked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Holdfast } from '@holdfast/runtime'

/** How long each state is measured, and how long the load runs before it is measured. */
const MEASURE_MS = 25_000
const WARM_UP_MS = 5000

/** The load: so many calls succeed and so many fail three times and become dead letters, once per interval. */
const INTERVAL_MS = 10
const SUCCESSES = 2
const FAILURES = 2

const PAYLOAD = { title: 'Dinner', text: 'x'.repeat(1000) }

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The delay of the event loop while `work` runs, in milliseconds. @param {() => Promise<unknown>} work */
async function delays(work) {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  await work()
  histogram.disable()
  return { most: histogram.percentile(99.9) / 1e6, max: histogram.max / 1e6 }
}

/** Runs the load for a time. @param {Holdfast} hf @param {number} ms */
async function load(hf, ms) {
  const calls = new Set()
  const fail = () => Promise.reject(new Error('the service is down'))
  for (let n = 0, end = performance.now() + ms; performance.now() < end; ) {
    for (let i = 0; i < SUCCESSES; i++) await hf.run('save', async () => 1)
    for (let i = 0; i < FAILURES; i++) {
      const call = hf
        .run('save', fail, { itemId: `item-${n++}`, payload: PAYLOAD })
        .catch(() => calls.delete(call))
      calls.add(call)
    }
    await sleep(INTERVAL_MS)
  }
  await Promise.all(calls)
}

/**
 * The delay of the event loop without and under load.
 *
 * @param {(dir: string) => string} store the url of a store in a folder
 * @returns {Promise<Record<string, number[]>>}
 */
export async function stalls(store) {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  try {
    const hf = await Holdfast.open({
      config: { policies: { save: { maxAttempts: 3, backoffType: 'immediate' } } },
      store: store(dir),
    })
    await load(hf, WARM_UP_MS)
    const idle = await delays(() => sleep(MEASURE_MS))
    const loaded = await delays(() => load(hf, MEASURE_MS))
    const { total } = await hf.deadLetters.stats()
    if (total < MEASURE_MS / 100) throw new Error(`the load stored ${total} dead letters`)
    await hf.close()
    return {
      beyond: [loaded.most - idle.most],
      idle: [idle.most],
      loaded: [loaded.most],
      idleMax: [idle.max],
      loadedMax: [loaded.max],
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
