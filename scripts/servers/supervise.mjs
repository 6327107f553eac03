// Starts programs that never outlive this process: each runs under a supervisor process (supervisor.mjs) that ends it when
// this process is gone, even if this process was killed with SIGKILL. Tests, examples, crash runs, benchmarks and the gate
// start their servers and commands through it.
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {object} Task
 * @property {string} command
 * @property {readonly string[]} args
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env] added to the environment of this process
 * @property {number} [uid]
 * @property {number} [gid]
 * @property {NodeJS.Signals} stopSignal what ends the program when this process is gone
 * @property {readonly string[]} temporaryFolders deleted when this process is gone
 *
 * @typedef {{ code: number | null, signal: NodeJS.Signals | null }} Exit
 * @typedef {{ pid: number } | { error: string } | { exit: Exit }} Report what the supervisor sends
 */

/** How much of the output is kept for error messages. */
const KEPT_OUTPUT_CHARS = 8000

/** How long a server may take until it is ready. A busy machine is slow, so this is for servers that hang. */
const START_TIMEOUT_MS = 150_000

/** The supervisor's file. Examples and crash runs are bundles in `.cache`, so it is searched in the folders above. */
function supervisorFile() {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const file = join(folder, 'scripts/servers/supervisor.mjs')
    if (existsSync(file)) return file
    if (folder === dirname(folder))
      throw new Error('expected scripts/servers/supervisor.mjs in a folder above')
  }
}

/** A program that ends with this process at the latest. */
export class SupervisedProcess {
  /** @type {number | undefined} */
  pid = undefined
  /** The last that it wrote to stdout and stderr. */
  output = ''
  /** Resolves when it has ended and its output is complete; rejects when it could not be started. @type {Promise<Exit>} */
  exited
  hasExited = false
  /** @type {Set<(text: string) => void>} */
  #listeners = new Set()
  #supervisor

  /** @param {Pick<Task, 'command'> & Partial<Task>} task */
  constructor({ args = [], stopSignal = 'SIGKILL', temporaryFolders = [], ...task }) {
    /** @type {Task} */
    const complete = { args, stopSignal, temporaryFolders, ...task }
    const supervisor = fork(supervisorFile(), [], {
      // Not in the process group of this process: Ctrl-C must not end it before it has ended the program.
      detached: true,
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [supervisor.stdout, supervisor.stderr])
      stream?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        this.output = (this.output + text).slice(-KEPT_OUTPUT_CHARS)
        for (const listener of this.#listeners) listener(text)
      })
    // Not an argument: the arguments of a process can be read by every user, and the environment may hold secrets.
    supervisor.send(complete, () => {})
    this.#supervisor = supervisor
    /** @type {Exit | undefined} */
    let exit
    let problem = 'its supervisor was killed'
    /** @type {Promise<void>} */
    const started = new Promise((resolve) => {
      supervisor.on('message', (message) => {
        const report = /** @type {Report} */ (message)
        if ('pid' in report) {
          this.pid = report.pid
          resolve()
          return
        }
        this.hasExited = true
        if ('exit' in report) exit = report.exit
        else problem = report.error
      })
    })
    supervisor.once('error', (error) => (problem = `its supervisor could not be started: ${error.message}`))
    this.exited = new Promise((resolve, reject) => {
      supervisor.once('close', () => {
        if (exit === undefined) this.signal('SIGKILL')
        this.hasExited = true
        if (exit === undefined) reject(new Error(`${task.command} could not be started: ${problem}`))
        else resolve(exit)
      })
    })
    this.exited.catch(() => {}) // Reported to those who wait for it.
    /** Resolves when it runs. @type {Promise<unknown>} */
    this.started = Promise.race([started, this.exited])
    this.started.catch(() => {})
  }

  /** @param {(text: string) => void} listener called with all that it writes from now on */
  onOutput(listener) {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    if (this.pid === undefined || this.hasExited) return
    try {
      process.kill(this.pid, signal)
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
    }
  }

  /** Kills it with all its descendants, and waits until they have ended. */
  async killAll() {
    if (this.#supervisor.connected) this.#supervisor.send('kill', () => {})
    await this.exited.catch(() => {})
  }

  /** Sends a signal that ends it, and waits until it has ended. @param {NodeJS.Signals} [signal] */
  async end(signal = 'SIGKILL') {
    this.signal(signal)
    await this.exited.catch(() => {})
  }
}

/**
 * Starts a server and waits until it is ready. Rejects with the reason and the server's output when it ends before that,
 * cannot be executed, or is not ready in time.
 *
 * @param {Pick<Task, 'command'> & Partial<Task> & { name: string, isReady: (output: string) => boolean, timeoutMs?: number }} server
 * @returns {Promise<SupervisedProcess>}
 */
export async function startServer({ name, isReady, timeoutMs = START_TIMEOUT_MS, ...task }) {
  const server = new SupervisedProcess(task)
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let stopListening = () => {}
  try {
    await server.started
    await new Promise((resolve, reject) => {
      const check = () => {
        if (isReady(server.output)) resolve(undefined)
      }
      stopListening = server.onOutput(check)
      check()
      server.exited.then(
        ({ code, signal }) =>
          reject(new Error(`ended with ${signal ?? `exit code ${code}`} before it was ready`)),
        reject,
      )
      timer = setTimeout(() => reject(new Error(`not ready after ${timeoutMs / 1000} s`)), timeoutMs)
    })
    return server
  } catch (error) {
    await server.killAll()
    const { message } = /** @type {Error} */ (error)
    throw new Error([`${name} does not start: ${message}`, server.output.trim()].filter(Boolean).join('\n'), {
      cause: error,
    })
  } finally {
    clearTimeout(timer)
    stopListening()
  }
}
