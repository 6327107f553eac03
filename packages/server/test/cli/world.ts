import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { onTestFinished } from 'vitest'
import type { CommandIo } from '../../src/cli/context/io.js'
import { runMain } from '../../src/cli/program.js'

/** What a command said and ended with. */
export interface Said {
  code: number
  out: string
  err: string
  // oxlint-disable-next-line typescript/no-explicit-any -- what is in it is what tests look at
  json: any
}

interface Setting {
  terminal?: boolean
  /** Whether the command can ask for a confirmation. */
  prompts?: boolean
  columns?: number
  env?: Record<string, string>
  /** Receives everything that is printed, so that a test can interrupt at a chosen moment. */
  onPrinted?: (text: string, interrupt: () => void) => void
}

/** Waits end at once, in the order they began: commands poll, and tests do not wait. */
const eager: Clock = {
  now: () => systemClock.now(),
  wall: () => systemClock.wall(),
  setTimer: (fn) => setImmediate(fn),
  clearTimer: (handle) => clearImmediate(handle as NodeJS.Immediate),
}

/** A folder of its own, with a command to run in it. */
export class World {
  readonly dir = mkdtempSync(join(tmpdir(), 'holdfast-cli-'))

  constructor(files: Record<string, string> = {}) {
    onTestFinished(() => rmSync(this.dir, { recursive: true, force: true }))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.dir, name), text)
  }

  path(name: string): string {
    return join(this.dir, name)
  }

  /** Runs a command line in this process. */
  async run(argv: readonly string[], setting: Setting = {}): Promise<Said> {
    const { terminal = false, prompts = false, columns = 80, env = {}, onPrinted } = setting
    const listeners = new Set<() => void>()
    const interrupt = (): void => {
      // A listener can add another one, which is called by the next interrupt.
      for (const listener of new Set(listeners)) listener()
    }
    const said = { out: '', err: '' }
    const hear = (place: 'out' | 'err') => (text: string | Uint8Array) => {
      const words = typeof text === 'string' ? text : Buffer.from(text).toString('utf8')
      said[place] += words
      onPrinted?.(words, interrupt)
    }
    const io: CommandIo = {
      out: hear('out'),
      err: hear('err'),
      isTerminal: terminal,
      canDrawProgress: terminal,
      canPrompt: prompts,
      hasColours: terminal,
      columns: () => columns,
      env,
      cwd: this.dir,
      clock: eager,
      onInterrupt(listener) {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      },
    }
    const code = await runMain(argv, io, '0.0.0')
    return {
      code,
      ...said,
      get json() {
        return JSON.parse(said.out)
      },
    }
  }
}

/** A config with something of everything, and a store on disk. */
export const CONFIG = `version: "1.1.0"
policies:
  fetch: { name: Fetch, max_attempts: 4, backoff_type: exponential, base_delay: 0.2, max_delay: 5, jitter_type: full, jitter_amount: 1 }
  save: { name: Save, max_attempts: 2, backoff_type: immediate }
circuit_breakers:
  notion: { failure_threshold: 2, timeout_duration: 30, persist_state: true }
subsystem_mappings:
  browser: { state: { timeout: fetch, default: save } }
pools:
  proxies: { members: [{ id: p1, url: "http://ann:hunter2@127.0.0.1:9001" }] }
alerts: { webhook: "http://127.0.0.1:9/hook", secret: hunter2 }
store: sqlite:data/holdfast.db
`

export const BAD = `version: "1.1.0"
policies:
  fetch: { max_attempts: 0 }
polices: {}
`
