import { HoldfastError } from 'holdfast'
import { ProcessLock } from './process-lock.js'

/**
 * What only one process may do at a time. Whoever wants in waits at a turnstile first, one at a time: a busy process that
 * comes back at once finds another one waiting there, and must let it go first.
 */
export class FairFileLock {
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

  /** Does the work while nobody else does work under this lock, here or in another process. */
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

  /** Fails where another process took the lock over from the work under way. @throws STORE_UNAVAILABLE */
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

  /** Waits for the work under way, and takes no more. */
  async close(): Promise<void> {
    this.isClosed = true
    await this.queue
    this.fairnessLock.close()
    this.lock.close()
  }
}

const createClosedError = (place: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the files store ${place} is closed; open it again`, { status: 503 })
