import { HoldfastError } from 'holdfast'
import type { FileLock } from '../../../store/src/files/disk.js'

/** A process that waits for a lock. */
interface Waiter {
  readonly process: string
  readonly onAcquired: (token: number) => void
}

/** The state of a lock on a machine: the token of a holder is greater than those of all earlier holders. */
interface LockState {
  token: number
  holder: string | undefined
  readonly waiting: Waiter[]
}

/**
 * The locks of the processes on one machine, as lock files implement them: a lock ends with its process, and a process that does not
 * respond can lose it to a process that waits.
 */
export class SharedLocks {
  private readonly states = new Map<string, LockState>()
  private readonly endedProcesses = new Set<string>()

  /** Creates the lock of a process. */
  create(path: string, process: string): FileLock {
    const name = nameOf(path)
    let queue: Promise<unknown> = Promise.resolve()
    let token: number | undefined
    const verify = () => {
      if (token === undefined || this.state(name).token === token) return
      throw new HoldfastError('STORE_UNAVAILABLE', `another process took over the lock ${name}`)
    }
    return {
      runExclusive: (work) => {
        const run = queue.then(async () => {
          token = await this.acquire(name, process)
          try {
            const result = await work()
            verify()
            return result
          } finally {
            this.release(name, token)
            token = undefined
          }
        })
        queue = run.catch(() => {})
        return run
      },
      verify,
      close: async () => void (await queue),
    }
  }

  /** Whether a process holds a lock. */
  isHeldBy(name: string, process: string): boolean {
    return this.state(name).holder === process
  }

  /** The process has died. */
  onProcessEnded(process: string): void {
    this.endedProcesses.add(process)
    for (const [name, state] of this.states) {
      const left = state.waiting.filter((waiter) => waiter.process !== process)
      state.waiting.splice(0, state.waiting.length, ...left)
      if (state.holder === process) this.release(name, state.token)
    }
  }

  /** Other processes take over all locks of a process that does not respond. */
  takeOver(process: string): void {
    for (const [name, state] of this.states)
      if (state.holder === process) {
        const { token } = state
        state.token++
        this.release(name, token + 1)
      }
  }

  private state(name: string): LockState {
    let state = this.states.get(name)
    if (state === undefined) {
      state = { token: 0, holder: undefined, waiting: [] }
      this.states.set(name, state)
    }
    return state
  }

  private acquire(name: string, process: string): Promise<number> {
    return new Promise((resolve) => {
      // Code of a process that has died can still run until the end of the event, and gets no lock.
      if (this.endedProcesses.has(process)) return
      const state = this.state(name)
      state.waiting.push({ process, onAcquired: resolve })
      this.grant(state)
    })
  }

  private release(name: string, token: number): void {
    const state = this.state(name)
    // A process that has lost the lock cannot release it.
    if (state.token !== token) return
    state.holder = undefined
    this.grant(state)
  }

  private grant(state: LockState): void {
    if (state.holder !== undefined) return
    const next = state.waiting.shift()
    if (next === undefined) return
    state.holder = next.process
    next.onAcquired(++state.token)
  }
}

/** The name of the lock of a path such as `/store/.locks/events`. */
const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
