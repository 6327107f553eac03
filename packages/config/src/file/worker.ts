import { parentPort, workerData } from 'node:worker_threads'
import { checkConfigText } from '../check/check.js'
import type { WorkerRequest, WorkerResponse } from './check-text.js'

// The entry of the worker thread, which checks one text and ends.
if (parentPort !== null) {
  const { text, options } = workerData as WorkerRequest
  const checked = checkConfigText(text, options)
  parentPort.postMessage({ ...checked, places: JSON.stringify(checked.places) } satisfies WorkerResponse)
}
