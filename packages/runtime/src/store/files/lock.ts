import { HoldfastError } from 'holdfast'
import { ProcessLock } from './process-lock.js'

/**
 * What only one process may do at a time. Whoever wants in waits at a turnstile first, one at a time: a busy process that
 * comes back at once finds another one waiting there, and must let it go first.
 */
export class Lock {
  private queue: Promise<unknown> = Promise.resolve()
  private closed = false
  private readonly turnstile: ProcessLock
  private readonly lock: ProcessLock
  private readonly file: string

  constructor(file: string) {
    this.file = file
    this.turnstile = new ProcessLock(`${file}.turn`)
    this.lock = new ProcessLock(`${file}.held`)
  }

  /** Does the work while nobody else does work under this lock, here or in another process. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.closed) return Promise.reject(closedError(this.file))
    const turn = this.queue.then(async () => {
      if (this.turnstile.isHeld() || !this.lock.tryAcquire()) await this.waitInLine()
      try {
        const result = await work()
        this.verify()
        return result
      } finally {
        this.lock.release()
      }
    })
    this.queue = turn.catch(() => {})
    return turn
  }

  /** Fails where another process took the lock over from the work under way. @throws STORE_UNAVAILABLE */
  verify(): void {
    this.lock.verify()
  }

  private async waitInLine(): Promise<void> {
    await this.turnstile.acquire()
    try {
      await this.lock.acquire()
    } finally {
      this.turnstile.release()
    }
  }

  /** Waits for the work under way, and takes no more. */
  async close(): Promise<void> {
    this.closed = true
    await this.queue
    this.turnstile.close()
    this.lock.close()
  }
}

const closedError = (place: string): HoldfastError =>
  new HoldfastError('STORE_UNAVAILABLE', `the files store ${place} is closed; open it again`, { status: 503 })
