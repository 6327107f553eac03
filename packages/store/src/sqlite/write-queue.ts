import { statSync } from 'node:fs'
import { systemClock } from 'holdfast/internal'
import { checkLogIsGone, createFileGoneError, createNotOpenError, SqliteConnection } from './connection.js'
import type { SqliteDriverName } from './driver.js'
import { canReconnect, createUnavailableError, isBusy } from './failure.js'

/** How long one transaction goes on taking work, in milliseconds: the event loop stands still meanwhile. */
const TRANSACTION_BUDGET_MS = 4

/** How long records of what happened may wait for company, in milliseconds. Dead letters wait for the turn to end. */
const DEFER_MS = 10

/** How long to wait between two tries to get the lock, in milliseconds, at first and at the most. */
const LOCK_RETRY_MS = { first: 1, longest: 25 } as const

/** Lets timers and sockets have their turn. */
export const nextMacrotask = () => new Promise<void>((resolve) => setImmediate(resolve))

const sleep = (ms: number) => new Promise<void>((resolve) => systemClock.setTimer(resolve, ms))

interface WriteJob {
  /** Does its part of a transaction. It may be asked again, after a transaction that came to nothing. */
  run(): void
  done(): void
  fail(error: unknown): void
}

/** What the store may be told. */
interface WriteQueueOptions {
  driver?: SqliteDriverName | undefined
  /** How long to try for the lock while other processes write, in milliseconds. */
  lockTimeout: number
}

/**
 * All that goes in and out of one file. What is to be written is collected and committed together, so that a flush to
 * the disk serves everybody who waits for one; what is read sees everything that was to be written before.
 */
export class WriteQueue {
  readonly file: string
  private readonly options: WriteQueueOptions
  private connection: SqliteConnection | undefined
  /** The last connection that was closed. It knows which file it was to. */
  private closed: SqliteConnection | undefined
  private isOpen = false
  private connecting: Promise<void> | undefined
  private pendingOpen: Promise<void> | undefined
  private durable: WriteJob[] = []
  private deferred: WriteJob[] = []
  private currentDrain: Promise<void> | undefined
  private timer: unknown
  /** How many of the next jobs go alone, to find out which of them it was that failed. */
  private soloJobs = 0

  /** Rows that cannot be read. */
  private readonly unreadableRows = new Set<string>()

  constructor(file: string, options: WriteQueueOptions) {
    this.file = file
    this.options = options
  }

  /** Whether rows were met that cannot be read. */
  get hasUnreadableRows(): boolean {
    return this.unreadableRows.size > 0
  }

  /** A row cannot be read: one that is damaged must not hide all the others. It is told of once. */
  skipRow(table: string, last: number): void {
    const row = `the row ${last} of ${table}`
    if (this.unreadableRows.has(row)) return
    this.unreadableRows.add(row)
    console.error(`holdfast: the SQLite file ${this.file}: ${row} is damaged, and its records are left out`)
  }

  async open(): Promise<void> {
    if (this.isOpen) return
    this.pendingOpen ??= this.retryWhileLocked(async () => {
      this.connection = await SqliteConnection.open(this.file, this.options.driver)
      this.isOpen = true
    }).finally(() => {
      this.pendingOpen = undefined
    })
    await this.pendingOpen
  }

  async close(): Promise<void> {
    await this.pendingOpen?.catch(() => {})
    while (this.durable.length + this.deferred.length > 0 || this.currentDrain !== undefined)
      await this.drain()
    this.isOpen = false
    await this.connecting?.catch(() => {})
    this.disconnect()
  }

  /** The next work connects again. */
  private disconnect(): void {
    if (this.connection === undefined) return
    this.closed = this.connection
    this.connection = undefined
    this.closed.close()
  }

  /** Connects again where the connection was closed after a failure, or another file is in its place. */
  private async connect(): Promise<void> {
    if (this.connection?.isReplaced()) this.disconnect()
    if (this.connection !== undefined || !this.isOpen) return
    this.connecting ??= this.reopen().finally(() => {
      this.connecting = undefined
    })
    await this.connecting
  }

  /** A file that is gone or empty is not made anew: that would hide the loss. */
  private async reopen(): Promise<void> {
    if (!statSync(this.file, { throwIfNoEntry: false })?.size) throw createFileGoneError(this.file)
    if (this.closed?.isReplaced()) checkLogIsGone(this.file)
    this.connection = await SqliteConnection.open(this.file, this.options.driver)
    this.closed = undefined
  }

  /** The open file, for the work of a job. */
  get sql(): SqliteConnection {
    if (this.connection === undefined) throw createNotOpenError(this.file)
    return this.connection
  }

  /** Resolves when the work is on the disk. */
  write<T>(work: () => T): Promise<T> {
    return this.enqueue(work, true)
  }

  /** The same for what may wait a little, and need not outlast a crash of the machine. */
  writeDeferred<T>(work: () => T): Promise<T> {
    return this.enqueue(work, false)
  }

  /** Reads one state of the file. */
  async read<T>(work: () => T): Promise<T> {
    await this.flush()
    return this.retryWhileLocked(async () => {
      await this.connect()
      return this.reconnecting(() => this.sql.read(work))
    })
  }

  /** Resolves when everything that was to be written so far is, or has failed. */
  async flush(): Promise<void> {
    if (this.durable.length + this.deferred.length === 0 && this.currentDrain === undefined) return
    const done = this.enqueue(() => {}, false)
    void this.drain()
    await done.catch(() => {})
  }

  private enqueue<T>(work: () => T, isDurable: boolean): Promise<T> {
    if (!this.isOpen) return Promise.reject(createNotOpenError(this.file))
    return new Promise<T>((resolve, reject) => {
      let result: T
      const job: WriteJob = {
        run: () => void (result = work()),
        done: () => resolve(result),
        fail: (error) => reject(createUnavailableError(this.file, error)),
      }
      if (isDurable) {
        if (this.durable.push(job) === 1) setImmediate(() => void this.drain())
        return
      }
      this.deferred.push(job)
      this.timer ??= systemClock.setTimer(() => {
        this.timer = undefined
        void this.drain()
      }, DEFER_MS)
    })
  }

  /** Commits some of what waits without giving up the turn, for whoever writes so much that it might never end. */
  commitNow(): void {
    if (this.currentDrain !== undefined) return
    try {
      this.deferred = this.deferred.slice(this.commit(this.deferred, 0, false))
    } catch {
      // Somebody else has the lock, or it fails: that is found out when there is time to wait.
    }
  }

  private drain(): Promise<void> {
    this.currentDrain ??= this.drainAll().finally(() => {
      this.currentDrain = undefined
    })
    return this.currentDrain
  }

  private async drainAll(): Promise<void> {
    while (this.durable.length + this.deferred.length > 0) {
      systemClock.clearTimer(this.timer)
      this.timer = undefined
      const durableCount = this.durable.length
      const jobs = durableCount === 0 ? this.deferred : this.durable.concat(this.deferred)
      this.durable = []
      this.deferred = []
      for (let at = 0; at < jobs.length; ) {
        const from = at
        try {
          at += await this.retryWhileLocked(async () => {
            await this.connect()
            return this.commit(jobs, from, from < durableCount)
          })
        } catch (error) {
          for (const job of jobs.slice(at)) job.fail(error)
          break
        }
        if (at < jobs.length || this.durable.length > 0) await nextMacrotask()
      }
    }
  }

  /** Commits some of the jobs, from one of them on, and tells how many are settled. Throws where none could be begun. */
  private commit(jobs: readonly WriteJob[], from: number, durable: boolean): number {
    let to = from
    let working = false
    try {
      const write = () =>
        this.sql.write(() => {
          const end = this.soloJobs > 0 ? Number.NEGATIVE_INFINITY : systemClock.now() + TRANSACTION_BUDGET_MS
          do {
            working = true
            jobs[to++]?.run()
          } while (to < jobs.length && systemClock.now() < end)
        }, durable)
      this.reconnecting(write)
    } catch (error) {
      if (!working || isBusy(error)) throw error
      if (to - from > 1) {
        this.soloJobs = to - from
        return 0
      }
      jobs[from]?.fail(error)
      if (this.soloJobs > 0) this.soloJobs--
      return 1
    }
    if (this.soloJobs > 0) this.soloJobs--
    for (let i = from; i < to; i++) jobs[i]?.done()
    return to - from
  }

  /** Does work on the connection, which is closed after a failure that a new one may not have. */
  private reconnecting<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (canReconnect(error)) this.disconnect()
      throw error
    }
  }

  /** Does it again while somebody else has the lock. */
  private async retryWhileLocked<T>(work: () => Promise<T>): Promise<T> {
    const end = systemClock.now() + this.options.lockTimeout
    for (let wait: number = LOCK_RETRY_MS.first; ; wait = Math.min(2 * wait, LOCK_RETRY_MS.longest)) {
      try {
        return await work()
      } catch (error) {
        if (!isBusy(error) || systemClock.now() >= end) throw createUnavailableError(this.file, error)
      }
      await sleep(wait)
    }
  }
}
