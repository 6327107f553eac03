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
  /** Told how many were dropped, once the store takes records again or at the end. */
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
  private readonly options: OutboxOptions<T>

  constructor(options: OutboxOptions<T>) {
    this.options = options
  }

  /** How many records were ever dropped. */
  total = 0

  add(record: T): void {
    const { capacity, clock } = this.options
    if (this.waiting.length >= capacity) {
      this.lost++
      this.total++
      return
    }
    this.waiting.push(record)
    if (this.timer === undefined && this.writing === undefined)
      this.timer = clock.setTimer(() => void this.flush(), this.failing ? PAUSE : LINGER)
  }

  /** Writes what waits now. Resolves when it is written, or when the store has refused it. */
  async flush(): Promise<void> {
    this.options.clock.clearTimer(this.timer)
    this.timer = undefined
    await this.writing
    if (this.waiting.length === 0) return
    this.writing = this.drain()
    await this.writing
  }

  /** What waits and is not written yet, oldest first. */
  pending(): readonly T[] {
    return this.waiting
  }

  private async drain(): Promise<void> {
    const { write, dropped, failed, clock } = this.options
    try {
      while (this.waiting.length > 0) {
        const batch = this.waiting.slice(0, BATCH)
        await write(batch)
        this.waiting = this.waiting.slice(batch.length)
        this.failing = false
      }
      if (this.lost > 0) dropped(this.lost)
      this.lost = 0
    } catch (error) {
      if (!this.failing) failed(error)
      this.failing = true
      this.timer ??= clock.setTimer(() => void this.flush(), PAUSE)
    } finally {
      this.writing = undefined
    }
  }

  /** Writes what can be written and lets go of the timer. */
  async close(): Promise<void> {
    await this.flush()
    this.options.clock.clearTimer(this.timer)
    this.timer = undefined
    const left = this.lost + (this.failing ? this.waiting.length : 0)
    if (left > 0) this.options.dropped(left)
    this.lost = 0
  }
}
