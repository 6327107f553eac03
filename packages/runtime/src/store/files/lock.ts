import { access, constants } from 'node:fs/promises'
import { HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/engine'
import { type Driver, openDriver } from '../sqlite/driver.js'
import { isBusy } from '../sqlite/failure.js'
import { makeFile } from '../sqlite/new-file.js'
import { unavailable } from './disk.js'

/** How long to try while another process holds it, and how often, in milliseconds. */
const PATIENCE = 30_000
const LONGEST_PAUSE = 4

const pause = (ms: number) => new Promise<void>((resolve) => systemClock.setTimer(resolve, ms))

/**
 * A lock of the operating system's own, on an empty SQLite file: it ends with the process that holds it, however that
 * ends, so that there is no owner to look for and nothing to break open. Node.js itself has no such lock.
 */
class Latch {
  private driver: Driver | undefined
  private readonly file: string

  constructor(file: string) {
    this.file = file
  }

  async take(): Promise<void> {
    const began = systemClock.now()
    for (let wait = 1; ; wait = Math.min(LONGEST_PAUSE, wait * 2)) {
      try {
        this.driver ??= await this.connect()
        this.driver.exec('BEGIN EXCLUSIVE')
        return
      } catch (error) {
        if (!isBusy(error)) throw unavailable(this.file, error)
        if (systemClock.now() - began > PATIENCE) throw this.heldTooLong(error)
      }
      await pause(wait)
    }
  }

  private heldTooLong(cause: unknown): HoldfastError {
    return new HoldfastError(
      'STORE_UNAVAILABLE',
      `another process has held the lock ${this.file} for ${PATIENCE / 1000} s; see what it is doing, then try again`,
      { cause, status: 503, retryAfter: 1000 },
    )
  }

  private async connect(): Promise<Driver> {
    // SQLite would open a file that cannot be written to, and lock nothing.
    if (!makeFile(this.file)) await access(this.file, constants.W_OK)
    const driver = await openDriver(this.file)
    driver.exec('PRAGMA busy_timeout = 0')
    return driver
  }

  give(): void {
    this.driver?.exec('COMMIT')
  }

  close(): void {
    this.driver?.close()
    this.driver = undefined
  }
}

/**
 * What only one process may do at a time. Whoever wants in waits at a turnstile first, one at a time: a busy process that
 * comes back at once finds another one waiting there, and must let it go first.
 */
export class Lock {
  private queue: Promise<unknown> = Promise.resolve()
  private closed = false
  private readonly turnstile: Latch
  private readonly latch: Latch
  private readonly file: string

  constructor(file: string) {
    this.file = file
    this.turnstile = new Latch(`${file}.next`)
    this.latch = new Latch(file)
  }

  /** Does the work while nobody else does work under this lock, here or in another process. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.closed) return Promise.reject(closedError(this.file))
    const turn = this.queue.then(async () => {
      await this.turnstile.take()
      try {
        await this.latch.take()
      } finally {
        this.turnstile.give()
      }
      try {
        return await work()
      } finally {
        this.latch.give()
      }
    })
    this.queue = turn.catch(() => {})
    return turn
  }

  /** Waits for the work under way, and takes no more. */
  async close(): Promise<void> {
    this.closed = true
    await this.queue
    this.turnstile.close()
    this.latch.close()
  }
}

const closedError = (place: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the files store ${place} is closed; open it again`, { status: 503 })
