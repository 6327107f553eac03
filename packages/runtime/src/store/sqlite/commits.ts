import { statSync } from 'node:fs'
import { systemClock } from 'holdfast/internal'
import { Connection, gone, notOpen } from './connection.js'
import type { DriverName } from './driver.js'
import { canReconnect, isBusy, unavailable } from './failure.js'

/** How long one transaction goes on taking work, in milliseconds: the event loop stands still meanwhile. */
const SLICE = 4

/** How long records of what happened may wait for company, in milliseconds. Dead letters wait for the turn to end. */
const COMPANY = 10

/** How long to wait between two tries to get the lock, in milliseconds, at first and at the most. */
const PAUSE = { first: 1, longest: 25 } as const

/** Lets timers and sockets have their turn. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const pause = (ms: number) => new Promise<void>((resolve) => systemClock.setTimer(resolve, ms))

interface Job {
  /** Does its part of a transaction. It may be asked again, after a transaction that came to nothing. */
  run(): void
  done(): void
  fail(error: unknown): void
}

/** What the store may be told. */
interface CommitOptions {
  driver?: DriverName | undefined
  /** How long to try for the lock while other processes write, in milliseconds. */
  lockTimeout: number
}

/**
 * All that goes in and out of one file. What is to be written is collected and committed together, so that a flush to
 * the disk serves everybody who waits for one; what is read sees everything that was to be written before.
 */
export class Commits {
  readonly file: string
  private readonly options: CommitOptions
  private connection: Connection | undefined
  private isOpen = false
  private connecting: Promise<void> | undefined
  private opening: Promise<void> | undefined
  private urgent: Job[] = []
  private patient: Job[] = []
  private draining: Promise<void> | undefined
  private timer: unknown
  /** How many of the next jobs go alone, to find out which of them it was that failed. */
  private alone = 0

  /** Rows that cannot be read. */
  private readonly unreadable = new Set<string>()

  constructor(file: string, options: CommitOptions) {
    this.file = file
    this.options = options
  }

  /** Whether rows were met that cannot be read. */
  get damaged(): boolean {
    return this.unreadable.size > 0
  }

  /** A row cannot be read: one that is damaged must not hide all the others. It is told of once. */
  leaveOut(table: string, last: number): void {
    const row = `the row ${last} of ${table}`
    if (this.unreadable.has(row)) return
    this.unreadable.add(row)
    console.error(`holdfast: the SQLite file ${this.file}: ${row} is damaged, and its records are left out`)
  }

  async open(): Promise<void> {
    if (this.isOpen) return
    this.opening ??= this.retried(async () => {
      this.connection = await Connection.open(this.file, this.options.driver)
      this.isOpen = true
    }).finally(() => {
      this.opening = undefined
    })
    await this.opening
  }

  async close(): Promise<void> {
    await this.opening?.catch(() => {})
    while (this.urgent.length + this.patient.length > 0 || this.draining !== undefined) await this.drain()
    this.isOpen = false
    this.disconnect()
  }

  /** The next work connects again. */
  private disconnect(): void {
    this.connection?.close()
    this.connection = undefined
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
    if (!statSync(this.file, { throwIfNoEntry: false })?.size) throw gone(this.file)
    this.connection = await Connection.open(this.file, this.options.driver)
  }

  /** The open file, for the work of a job. */
  get sql(): Connection {
    if (this.connection === undefined) throw notOpen(this.file)
    return this.connection
  }

  /** Resolves when the work is on the disk. */
  write<T>(work: () => T): Promise<T> {
    return this.enqueue(work, true)
  }

  /** The same for what may wait a little, and need not outlast a crash of the machine. */
  writeLater<T>(work: () => T): Promise<T> {
    return this.enqueue(work, false)
  }

  /** Reads one state of the file. */
  async read<T>(work: () => T): Promise<T> {
    await this.flush()
    return this.retried(async () => {
      await this.connect()
      return this.reconnecting(() => this.sql.read(work))
    })
  }

  /** Resolves when everything that was to be written so far is, or has failed. */
  async flush(): Promise<void> {
    if (this.urgent.length + this.patient.length === 0 && this.draining === undefined) return
    const done = this.enqueue(() => {}, false)
    void this.drain()
    await done.catch(() => {})
  }

  private enqueue<T>(work: () => T, hurry: boolean): Promise<T> {
    if (!this.isOpen) return Promise.reject(notOpen(this.file))
    return new Promise<T>((resolve, reject) => {
      let result: T
      const job: Job = {
        run: () => void (result = work()),
        done: () => resolve(result),
        fail: (error) => reject(unavailable(this.file, error)),
      }
      if (hurry) {
        if (this.urgent.push(job) === 1) setImmediate(() => void this.drain())
        return
      }
      this.patient.push(job)
      this.timer ??= systemClock.setTimer(() => {
        this.timer = undefined
        void this.drain()
      }, COMPANY)
    })
  }

  /** Commits some of what waits without giving up the turn, for whoever writes so much that it might never end. */
  press(): void {
    if (this.draining !== undefined) return
    try {
      this.patient = this.patient.slice(this.commit(this.patient, 0, false))
    } catch {
      // Somebody else has the lock, or it fails: that is found out when there is time to wait.
    }
  }

  private drain(): Promise<void> {
    this.draining ??= this.drainAll().finally(() => {
      this.draining = undefined
    })
    return this.draining
  }

  private async drainAll(): Promise<void> {
    while (this.urgent.length + this.patient.length > 0) {
      systemClock.clearTimer(this.timer)
      this.timer = undefined
      const hurried = this.urgent.length
      const jobs = hurried === 0 ? this.patient : this.urgent.concat(this.patient)
      this.urgent = []
      this.patient = []
      for (let at = 0; at < jobs.length; ) {
        const from = at
        try {
          at += await this.retried(async () => {
            await this.connect()
            return this.commit(jobs, from, from < hurried)
          })
        } catch (error) {
          for (const job of jobs.slice(at)) job.fail(error)
          break
        }
        if (at < jobs.length || this.urgent.length > 0) await turn()
      }
    }
  }

  /** Commits some of the jobs, from one of them on, and tells how many are settled. Throws where none could be begun. */
  private commit(jobs: readonly Job[], from: number, durable: boolean): number {
    let to = from
    let working = false
    try {
      const write = () =>
        this.sql.write(() => {
          const end = this.alone > 0 ? Number.NEGATIVE_INFINITY : systemClock.now() + SLICE
          do {
            working = true
            jobs[to++]?.run()
          } while (to < jobs.length && systemClock.now() < end)
        }, durable)
      this.reconnecting(write)
    } catch (error) {
      if (!working || isBusy(error)) throw error
      if (to - from > 1) {
        this.alone = to - from
        return 0
      }
      jobs[from]?.fail(error)
      if (this.alone > 0) this.alone--
      return 1
    }
    if (this.alone > 0) this.alone--
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
  private async retried<T>(work: () => Promise<T>): Promise<T> {
    const end = systemClock.now() + this.options.lockTimeout
    for (let wait: number = PAUSE.first; ; wait = Math.min(2 * wait, PAUSE.longest)) {
      try {
        return await work()
      } catch (error) {
        if (!isBusy(error) || systemClock.now() >= end) throw unavailable(this.file, error)
      }
      await pause(wait)
    }
  }
}
