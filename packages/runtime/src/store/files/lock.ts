import { open } from 'node:fs/promises'
import { HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/engine'
import { type Driver, openDriver } from '../sqlite/driver.js'
import { isBusy } from '../sqlite/failure.js'
import { unavailable } from './disk.js'

/** How long to try while another process holds it, and how often, in milliseconds. */
const PATIENCE = 10_000
const LONGEST_PAUSE = 20

const pause = (ms: number) => new Promise<void>((resolve) => systemClock.setTimer(resolve, ms))

/**
 * What only one process may do at a time. The lock is the operating system's own, on an empty SQLite file: it ends with
 * the process that holds it, however that ends, so that there is no owner to look for and nothing to break open.
 * Node.js itself has no such lock.
 */
export class Lock {
  private queue: Promise<unknown> = Promise.resolve()
  private driver: Driver | undefined
  private closed = false
  private readonly file: string

  constructor(file: string) {
    this.file = file
  }

  /** Does the work while nobody else does work under this lock, here or in another process. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.closed) return Promise.reject(closedError(this.file))
    const turn = this.queue.then(async () => {
      const driver = await this.acquire()
      try {
        return await work()
      } finally {
        driver.exec('COMMIT')
      }
    })
    this.queue = turn.catch(() => {})
    return turn
  }

  private async acquire(): Promise<Driver> {
    const began = systemClock.now()
    for (let wait = 1; ; wait = Math.min(LONGEST_PAUSE, wait * 2)) {
      try {
        this.driver ??= await this.connect()
        this.driver.exec('BEGIN EXCLUSIVE')
        return this.driver
      } catch (error) {
        if (!isBusy(error)) throw unavailable(this.file, error)
        if (systemClock.now() - began > PATIENCE)
          throw new HoldfastError(
            'STORE_UNAVAILABLE',
            `another process has held the lock ${this.file} for ${PATIENCE / 1000} s; see what it is doing, then try again`,
            { cause: error, status: 503, retryAfter: 1000 },
          )
      }
      await pause(wait)
    }
  }

  private async connect(): Promise<Driver> {
    // Made here first, because SQLite would give it another mode.
    await (await open(this.file, 'a', 0o600)).close()
    const driver = await openDriver(this.file)
    driver.exec('PRAGMA busy_timeout = 0')
    return driver
  }

  /** Waits for the work under way, and takes no more. */
  async close(): Promise<void> {
    this.closed = true
    await this.queue
    this.driver?.close()
    this.driver = undefined
  }
}

export const closedError = (place: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the files store ${place} is closed; open it again`, { status: 503 })
