import type { Clock } from 'holdfast'

/** How long records wait for company, and how many are written at once. */
const LINGER = 100
const BATCH = 500

/** How long a store that refused is left alone. */
const PAUSE = 1000

export interface OutboxOptions<T> {
  clock: Clock
  /** Writes a batch. */
  write(records: readonly T[]): Promise<void>
  /** How many may wait; beyond it new ones are dropped. */
  capacity: number
  /** Told how many were dropped, when the store took or refused what waits, and at the end. */
  dropped(count: number): void
  /** Told of the first failure of a row of them. */
  failed(error: unknown): void
}

/** Records on their way to the store: in batches, in order, without anybody waiting for it. */
export class Outbox<T> {
  private waiting: T[] = []
  private lost = 0
  private timer: unknown = undefined
  private writing: Promise<void> | undefined = undefined
  private failing = false
  private closed = false
  private readonly options: OutboxOptions<T>

  constructor(options: OutboxOptions<T>) {
    this.options = options
  }

  /** Whether the next record can be taken. */
  get hasRoom(): boolean {
    return !this.closed && this.waiting.length < this.options.capacity
  }

  add(record: T): void {
    if (!this.hasRoom) {
      this.lost++
      return
    }
    this.waiting.push(record)
    if (this.writing !== undefined) return
    if (this.waiting.length >= BATCH && !this.failing) void this.flush()
    else this.arm()
  }

  /** Writes what waits now. Resolves when it is written, or when the store has refused it. */
  flush(): Promise<void> {
    this.disarm()
    // Whoever comes while records are written waits for the same writing: it goes on until nothing waits.
    this.writing ??= this.drain()
    return this.writing
  }

  /** Writes what can be written. What comes afterwards is dropped, and no timer is left. */
  async close(): Promise<void> {
    await this.flush()
    this.closed = true
    this.disarm()
    const left = this.lost + this.waiting.length
    this.lost = 0
    this.waiting = []
    if (left > 0) this.options.dropped(left)
  }

  private async drain(): Promise<void> {
    const { write, failed } = this.options
    await Promise.resolve() // until `writing` is set: it is unset below
    try {
      while (this.waiting.length > 0) {
        const batch = this.waiting.slice(0, BATCH)
        await write(batch)
        this.waiting = this.waiting.slice(batch.length)
        this.failing = false
      }
    } catch (error) {
      const first = !this.failing
      this.failing = true
      if (first) failed(error)
    }
    const { lost } = this
    this.lost = 0
    if (lost > 0) this.options.dropped(lost)
    this.writing = undefined
    if (this.waiting.length > 0) this.arm()
  }

  private arm(): void {
    if (this.closed) return
    this.timer ??= this.options.clock.setTimer(() => void this.flush(), this.failing ? PAUSE : LINGER)
  }

  private disarm(): void {
    this.options.clock.clearTimer(this.timer)
    this.timer = undefined
  }
}
