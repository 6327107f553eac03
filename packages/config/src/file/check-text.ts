import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Checked, checkConfig, type ParseOptions } from '../check/check.js'
import { deepFreeze } from '../source-locations.js'

/** Texts above this many bytes are read off the main thread. */
const WORKER_THRESHOLD_BYTES = 64 * 1024

/** What the worker is given. */
export interface WorkerRequest {
  readonly text: string
  readonly options: ParseOptions
}

/** What it answers. Thousands of places pass between threads more quickly as one text. */
export type WorkerResponse = Omit<Checked, 'places'> & { readonly places: string }

/**
 * Checks a config's text, a large one in a worker, so that calls are not held up. Where no worker can be started the text
 * is checked here.
 *
 * @param entry - the file that the worker begins with
 */
export async function checkText(
  text: string,
  options: ParseOptions = {},
  entry: () => string = workerEntry,
): Promise<Checked> {
  if (Buffer.byteLength(text) <= WORKER_THRESHOLD_BYTES) return checkConfig(text, options)
  const env = { ...(options.env ?? process.env) }
  const response = await checkInWorker({ text, options: { ...options, env } }, entry)
  if (response === undefined) return checkConfig(text, options)
  return response.config === undefined ? response : { ...response, config: deepFreeze(response.config) }
}

/** Its place among what was built is for the package to know, since the code around may be anywhere in a bundle. */
const workerEntry = (): string => createRequire(import.meta.url).resolve('@holdfast/config/worker')

/** The answer of a worker; undefined where there is none to be had. */
function checkInWorker(workerData: WorkerRequest, entry: () => string): Promise<Checked | undefined> {
  return new Promise((resolve) => {
    try {
      const worker = new Worker(pathToFileURL(entry()), { workerData })
      worker.once('message', ({ places, ...checked }: WorkerResponse) => {
        resolve({ ...checked, places: JSON.parse(places) as Checked['places'] })
        void worker.terminate()
      })
      worker.once('error', () => resolve(undefined))
      worker.once('exit', () => resolve(undefined))
    } catch {
      resolve(undefined)
    }
  })
}
