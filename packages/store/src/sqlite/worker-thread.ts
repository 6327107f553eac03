import { Worker } from 'node:worker_threads'
import type { StartThread } from './thread-port.js'
import type { ThreadResponse } from './thread-protocol.js'

/**
 * The options of Node.js that the thread gets. It gets no others, because a module that is loaded before each program
 * (`--import`) may open a store, and would start one thread in another without end.
 */
const INHERITED_OPTIONS = /(?<!\S)--(?:no-warnings|disable-warning[ =]\S+|experimental-sqlite)(?!\S)/g

/** Starts worker threads of a program. */
export const createWorkerStarter =
  (entry: URL): StartThread =>
  (input, { onResponse, onExit }) => {
    const worker = new Worker(entry, {
      workerData: input,
      name: 'holdfast-sqlite',
      execArgv: inheritedOptions(),
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    let failure: unknown
    worker.on('message', (response: ThreadResponse) => onResponse(response))
    worker.on('error', (error) => {
      failure = error
    })
    worker.on('exit', (code) => onExit(failure ?? new Error(`it ended with code ${code}`)))
    return worker
  }

function inheritedOptions(): string[] {
  const options = [...process.execArgv, process.env.NODE_OPTIONS].join(' ')
  return Array.from(options.matchAll(INHERITED_OPTIONS), ([option]) => option.replace(' ', '='))
}
