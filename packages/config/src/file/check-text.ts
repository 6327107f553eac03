import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { freezeInPlace } from '@holdfast/records'
import { nextMacrotask } from 'holdfast/internal'
import { checkConfigText, type ParseOptions } from '../check/check.js'
import type { CheckResult } from '../check/check-input.js'

/** Larger texts are checked in a worker thread. */
const WORKER_THRESHOLD_BYTES = 64 * 1024

/** The input of the worker. */
export interface WorkerRequest {
  readonly text: string
  readonly options: ParseOptions
}

/** The result of the worker. The locations are sent as one string, because thousands of properties take longer. */
export type WorkerResponse = Omit<CheckResult, 'places'> & { readonly places: string }

/**
 * Checks the text of a config. A large one is checked in a worker, so that calls are not delayed. Without a worker the text
 * is checked in this thread.
 *
 * @param entry - the entry file of the worker
 */
export async function checkText(
  text: string,
  options: ParseOptions = {},
  entry: () => string = workerEntry,
): Promise<CheckResult> {
  if (typeof text !== 'string' || Buffer.byteLength(text) <= WORKER_THRESHOLD_BYTES)
    return checkConfigText(text, options)
  const env = { ...(options.env ?? process.env) }
  const response = await checkInWorker({ text, options: { ...options, env } }, entry)
  if (response === undefined) return checkConfigText(text, options)
  if (response.config === undefined) return response
  const config = freezeInPlace(response.config)
  // With thousands of members the line above takes some milliseconds, and so does the work of the caller.
  await nextMacrotask()
  return { ...response, config }
}

/** The package resolves the path of the worker, because this code may be anywhere in a bundle. */
const workerEntry = (): string => createRequire(import.meta.url).resolve('@holdfast/config/worker')

/** The result of a worker; undefined where none can be started. */
function checkInWorker(workerData: WorkerRequest, entry: () => string): Promise<CheckResult | undefined> {
  return new Promise((resolve) => {
    try {
      const worker = new Worker(pathToFileURL(entry()), {
        workerData,
        // A module that is loaded before each program (`--import`) may open a config, and would start workers without end.
        execArgv: [],
        env: { ...process.env, NODE_OPTIONS: '' },
      })
      worker.once('message', ({ places, ...checked }: WorkerResponse) => {
        resolve({ ...checked, places: JSON.parse(places) as CheckResult['places'] })
        void worker.terminate()
      })
      worker.once('error', () => resolve(undefined))
      worker.once('exit', () => resolve(undefined))
    } catch {
      resolve(undefined)
    }
  })
}
