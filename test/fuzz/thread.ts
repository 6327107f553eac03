import { inspect } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import { fuzz } from './engine.js'
import type { FuzzTarget } from './target.js'

interface ThreadData {
  readonly corpus: string
  readonly cases: number
  readonly seed: number
  /** The length of the current case, and its bytes: what the other thread reads when this one hangs. */
  readonly current: SharedArrayBuffer
}

const REPORT_EVERY_MS = 500

/** Runs a target in a worker thread and reports the progress to the thread that started it. */
export async function runInThread(target: FuzzTarget): Promise<void> {
  const { corpus, cases, seed, current } = workerData as ThreadData
  const length = new Uint32Array(current, 0, 1)
  const room = new Uint8Array(current, 4)
  let reportedAt = 0
  try {
    const report = await fuzz(target, {
      corpus,
      cases,
      seed,
      onCase(bytes) {
        length[0] = Math.min(bytes.length, room.length)
        room.set(bytes.subarray(0, room.length))
      },
      onProgress(done) {
        // oxlint-disable-next-line holdfast/clock -- progress in real time
        const now = performance.now()
        if (now - reportedAt < REPORT_EVERY_MS) return
        reportedAt = now
        parentPort?.postMessage({ done })
      },
    })
    parentPort?.postMessage(report)
  } catch (error) {
    parentPort?.postMessage({ failure: inspect(error, { depth: 4 }) })
  }
}
