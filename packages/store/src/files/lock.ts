import { HoldfastError } from 'holdfast'
import type { FileLock } from './disk.js'
import { ProcessLock } from './process-lock.js'

/**
 * A lock between processes that is fair: a process acquires `fairnessLock` before it waits for `lock`. A busy process that
 * returns at once finds `fairnessLock` held by a waiting process, and has to queue behind it.
 */
export class FairFileLock implements FileLock {
  private queue: Promise<unknown> = Promise.resolve()
  private isClosed = false
  private readonly fairnessLock: ProcessLock
  private readonly lock: ProcessLock
  private readonly file: string

  constructor(file: string) {
    this.file = file
    this.fairnessLock = new ProcessLock(`${file}.turn`)
    this.lock = new ProcessLock(`${file}.held`)
  }

  /** Runs the work while no other work runs under this lock, in this or another process. */
  runExclusive<T>(work: () => Promise<T>): Promise<T> {
    if (this.isClosed) return Promise.reject(createClosedError(this.file))
    const run = this.queue.then(async () => {
      if (this.fairnessLock.isHeld() || !this.lock.tryAcquire()) await this.waitInLine()
      try {
        const result = await work()
        this.verify()
        return result
      } finally {
        this.lock.release()
      }
    })
    this.queue = run.catch(() => {})
    return run
  }

  /** @throws STORE_UNAVAILABLE if another process took over the lock from the running work */
  verify(): void {
    this.lock.verify()
  }

  private async waitInLine(): Promise<void> {
    await this.fairnessLock.acquire()
    try {
      await this.lock.acquire()
    } finally {
      this.fairnessLock.release()
    }
  }

  /** Waits for running work and rejects new work. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.queue
    this.fairnessLock.close()
    this.lock.close()
  }
}

const createClosedError = (path: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the files store ${path} is closed; open it again`, { status: 503 })
