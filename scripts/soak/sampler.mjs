// Measures the process that loads it (`node --import`): memory and the delay of its event loop, as JSON lines in the file
// SOAK_SAMPLES. A process of the soak test is started with it and knows nothing about it.
import { appendFile } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

const RESOLUTION_MS = 10
/** Every so many samples, garbage is collected before the heap is measured. */
const SAMPLES_PER_COLLECTION = 12
/** After this time the delay that the collection caused is in the histogram. */
const COLLECTION_DELAY_MS = 3 * RESOLUTION_MS

/** @param {string} file @param {string} name @param {number} intervalMs */
function startSampling(file, name, intervalMs) {
  setFlagsFromString('--expose-gc')
  /** @type {() => void} */
  const collectGarbage = runInNewContext('gc')
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  let count = 0

  /** The delay that the histogram has counted: it contains the interval of its timer. @param {number} percentile */
  const delayAt = (percentile) => Math.max(0, histogram.percentile(percentile) / 1e6 - RESOLUTION_MS)

  const takeSample = () => {
    const delay = { p50: delayAt(50), p99: delayAt(99), p999: delayAt(99.9) }
    const isCollection = ++count % SAMPLES_PER_COLLECTION === 0
    const { rss, heapUsed, external } = process.memoryUsage()
    /** @type {Record<string, unknown>} */
    const sample = { name, pid: process.pid, at: Date.now(), rss, heapUsed, external, delay }
    if (isCollection) {
      collectGarbage()
      const { heapUsed: heapAfterGc, external: externalAfterGc } = process.memoryUsage()
      Object.assign(sample, { heapAfterGc, externalAfterGc })
    }
    appendFile(file, `${JSON.stringify(sample)}\n`, () => {})
    // A forced collection is work of the test, so its delay is not counted.
    setTimeout(() => histogram.reset(), isCollection ? COLLECTION_DELAY_MS : 0).unref()
  }
  setInterval(takeSample, intervalMs).unref()
}

const { SOAK_SAMPLES: file, SOAK_NAME: name, SOAK_INTERVAL_MS: intervalMs } = process.env
if (isMainThread && file !== undefined && name !== undefined)
  startSampling(file, name, Number(intervalMs ?? 5000))
