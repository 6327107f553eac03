import { UnreadableRows } from '../unreadable-rows.js'
import { checkLogIsGone, createFileGoneError, createNotOpenError, SqliteConnection } from './connection.js'
import type { SqliteDriverName } from './driver.js'
import { canReconnect, createUnavailableError, isBusy } from './failure.js'
import { nodePlatform, type SqlitePlatform } from './platform.js'

/** How long one transaction accepts work. Other processes and reads wait meanwhile. */
const TRANSACTION_BUDGET_MS = 4

/** The first and the longest delay between two attempts to get the lock. */
const LOCK_RETRY_MS = { first: 1, longest: 25 } as const

interface WriteJob {
  /** Runs its part of a transaction. It runs again after a transaction that was rolled back. */
  run(): void
  done(): void
  fail(error: unknown): void
}

interface WriteQueueOptions {
  driver?: SqliteDriverName | undefined
  /** Milliseconds to wait for the lock while other processes write. */
  lockTimeout: number
  platform?: SqlitePlatform | undefined
}

/**
 * All reads and writes of one file. Writes are collected and committed together, so that one flush serves many callers. A read
 * sees all writes that were queued before it.
 */
export class WriteQueue {
  readonly file: string
  readonly platform: SqlitePlatform
  private readonly options: WriteQueueOptions
  private connection: SqliteConnection | undefined
  /** The last connection that was closed. It knows which file it was to. */
  private closed: SqliteConnection | undefined
  private isOpen = false
  private connecting: Promise<void> | undefined
  private pendingOpen: Promise<void> | undefined
  private durable: WriteJob[] = []
  private unflushed: WriteJob[] = []
  private currentDrain: Promise<void> | undefined
  private isDrainScheduled = false
  /** How many of the next jobs run in a transaction of their own, to find out which of them failed. */
  private soloJobs = 0

  readonly unreadableRows = new UnreadableRows((problem) =>
    console.error(`holdfast: the SQLite file ${this.file}: ${problem}`),
  )

  constructor(file: string, options: WriteQueueOptions) {
    this.file = file
    this.options = options
    this.platform = options.platform ?? nodePlatform
  }

  async open(): Promise<void> {
    if (this.isOpen) return
    this.pendingOpen ??= this.retryWhileLocked(async () => {
      this.connection = await SqliteConnection.open(this.file, this.options.driver, this.platform)
      this.isOpen = true
    }).finally(() => {
      this.pendingOpen = undefined
    })
    await this.pendingOpen
  }

  /** Continues with a file that was open before. The first use connects, and fails if the file is missing. */
  resume(): void {
    this.isOpen = true
  }

  async close(): Promise<void> {
    await this.pendingOpen?.catch(() => {})
    while (this.durable.length + this.unflushed.length > 0 || this.currentDrain !== undefined)
      await this.drain()
    this.isOpen = false
    await this.connecting?.catch(() => {})
    this.disconnect()
  }

  /** Closes the connection. The next read or write opens another. */
  private disconnect(): void {
    if (this.connection === undefined) return
    this.closed = this.connection
    this.connection = undefined
    this.closed.close()
  }

  /** Connects again if the connection was closed after an error, or the file was replaced. */
  private async connect(): Promise<void> {
    if (this.connection?.isReplaced()) this.disconnect()
    if (this.connection !== undefined || !this.isOpen) return
    this.connecting ??= this.reopen().finally(() => {
      this.connecting = undefined
    })
    await this.connecting
  }

  /** A missing or empty file is not created again, because that would hide the loss. */
  private async reopen(): Promise<void> {
    if (!this.platform.stat(this.file)?.size) throw createFileGoneError(this.file)
    if (this.closed?.isReplaced()) checkLogIsGone(this.file, this.platform)
    this.connection = await SqliteConnection.open(this.file, this.options.driver, this.platform)
    this.closed = undefined
  }

  /** The connection, for the work of a job. */
  get sql(): SqliteConnection {
    if (this.connection === undefined) throw createNotOpenError(this.file)
    return this.connection
  }

  /** Resolves when the work is durable. */
  write<T>(work: () => T): Promise<T> {
    return this.enqueue(work, true)
  }

  /** Resolves when the work survives a crash of the process. It does not always survive one of the machine. */
  writeUnflushed<T>(work: () => T): Promise<T> {
    return this.enqueue(work, false)
  }

  /** Reads one state of the file, after all queued writes. */
  async read<T>(work: () => T): Promise<T> {
    await this.flush()
    return this.retryWhileLocked(async () => {
      await this.connect()
      return this.disconnectOnError(() => this.sql.read(work))
    })
  }

  /** Resolves when all writes that are queued now have succeeded or failed. */
  async flush(): Promise<void> {
    if (this.durable.length + this.unflushed.length === 0 && this.currentDrain === undefined) return
    const done = this.enqueue(() => {}, false)
    void this.drain()
    await done.catch(() => {})
  }

  /** Gives timers and sockets a turn. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => this.platform.runInNextTurn(resolve))
  }

  /** Copies the log to the file after all queued writes, and empties it. */
  async checkpoint(): Promise<void> {
    await this.flush()
    this.connection?.checkpoint()
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
      if (isDurable) this.durable.push(job)
      else this.unflushed.push(job)
      this.scheduleDrain()
    })
  }

  /** Starts a drain at the end of this turn of the event loop. */
  private scheduleDrain(): void {
    if (this.isDrainScheduled) return
    this.isDrainScheduled = true
    this.platform.runInNextTurn(() => {
      this.isDrainScheduled = false
      void this.drain()
    })
  }

  /** Commits some unflushed writes synchronously, so that the queue of a caller that writes without pause does not grow. */
  commitNow(): void {
    if (this.currentDrain !== undefined) return
    try {
      this.unflushed = this.unflushed.slice(this.commit(this.unflushed, 0, false))
    } catch {
      // The next drain retries it, and reports errors.
    }
  }

  private drain(): Promise<void> {
    this.currentDrain ??= this.drainAll().finally(() => {
      this.currentDrain = undefined
    })
    return this.currentDrain
  }

  private async drainAll(): Promise<void> {
    while (this.durable.length + this.unflushed.length > 0) {
      const durableCount = this.durable.length
      const jobs = durableCount === 0 ? this.unflushed : this.durable.concat(this.unflushed)
      this.durable = []
      this.unflushed = []
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
        if (at < jobs.length || this.durable.length + this.unflushed.length > 0) await this.nextTurn()
      }
    }
  }

  /** Commits some of the jobs in order, and returns how many have succeeded or failed. Throws if none could be started. */
  private commit(jobs: readonly WriteJob[], from: number, isDurable: boolean): number {
    let to = from
    let hasStarted = false
    try {
      const write = () =>
        this.sql.write(() => {
          const end =
            this.soloJobs > 0 ? Number.NEGATIVE_INFINITY : this.platform.clock.now() + TRANSACTION_BUDGET_MS
          do {
            hasStarted = true
            jobs[to++]?.run()
          } while (to < jobs.length && this.platform.clock.now() < end)
        }, isDurable)
      this.disconnectOnError(write)
    } catch (error) {
      if (!hasStarted || isBusy(error)) throw error
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

  /** Runs work on the connection, and closes it after an error that a new connection may not have. */
  private disconnectOnError<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      if (canReconnect(error)) this.disconnect()
      throw error
    }
  }

  /** Retries the work while another process has the lock. */
  private async retryWhileLocked<T>(work: () => Promise<T>): Promise<T> {
    const end = this.platform.clock.now() + this.options.lockTimeout
    for (let wait: number = LOCK_RETRY_MS.first; ; wait = Math.min(2 * wait, LOCK_RETRY_MS.longest)) {
      try {
        return await work()
      } catch (error) {
        if (!isBusy(error) || this.platform.clock.now() >= end) throw createUnavailableError(this.file, error)
      }
      await new Promise<void>((resolve) => this.platform.clock.setTimer(resolve, wait))
    }
  }
}
