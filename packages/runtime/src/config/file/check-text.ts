import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { type Checked, checkConfig, type ParseOptions } from '../check.js'
import { freeze } from '../places.js'

/** Texts above this many bytes are read off the main thread. */
const LARGE = 64 * 1024

/** What the worker is given, and what it answers. */
export interface WorkerRequest {
  readonly text: string
  readonly options: ParseOptions
}

/**
 * Checks a config's text, a large one in a worker, so that calls are not held up. Where no worker can be started the text
 * is checked here.
 */
export async function checkText(text: string, options: ParseOptions = {}): Promise<Checked> {
  if (Buffer.byteLength(text) <= LARGE) return checkConfig(text, options)
  const answer = await inWorker({ text, options: { ...options, env: { ...(options.env ?? process.env) } } })
  if (answer === undefined) return checkConfig(text, options)
  return answer.config === undefined ? answer : { ...answer, config: freeze(answer.config) }
}

/** The answer of a worker; undefined where there is none to be had. */
function inWorker(workerData: WorkerRequest): Promise<Checked | undefined> {
  return new Promise((resolve) => {
    try {
      // Its place among what was built is for the package to know, since the code around may be anywhere in a bundle.
      const file = createRequire(import.meta.url).resolve('@holdfast/runtime/config-worker')
      const worker = new Worker(pathToFileURL(file), { workerData })
      worker.once('message', (checked: Checked) => {
        resolve(checked)
        void worker.terminate()
      })
      worker.once('error', () => resolve(undefined))
      worker.once('exit', () => resolve(undefined))
    } catch {
      resolve(undefined)
    }
  })
}
