import type { Clock } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'

/** How long records wait for company, and how many are written at once. */
const LINGER = 100
const BATCH = 500

/** How long a store that refused is left alone. */
const PAUSE = 1000

/** How long the end waits for a store that does not answer. */
const PATIENCE = 10_000

export interface OutboxOptions<T> {
  clock: Clock
  /** Writes a batch. */
  write(records: readonly T[]): Promise<void>
  /** How many may wait; beyond it new ones are dropped. */
  capacity: number
  /** Told how many were dropped since it was told last: when the store answers, and before where they are many. */
  dropped(count: number): void
  /** Told of the first failure of a row of them. */
  failed(error: unknown): void
}

/** Records on their way to the store: in batches, in order, without anybody waiting for it. */
export class Outbox<T> {
  private waiting: T[] = []
  /** How many were dropped since the store last answered, and how many of them have been told of. */
  private lost = 0
  private toldOf = 0
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
      // A store that never answers is told of all the same.
      if (++this.lost >= Math.max(BATCH, 10 * this.toldOf)) this.tell()
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
    // Records of many calls are written together, in the async context of none of them.
    this.writing ??= runOutsideContext(() => this.drain())
    return this.writing
  }

  /** Writes what can be written. What comes afterwards is dropped, and no timer is left. */
  async close(): Promise<void> {
    const { clock } = this.options
    let timer: unknown
    const patience = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, PATIENCE)
    })
    await Promise.race([this.flush(), patience])
    clock.clearTimer(timer)
    this.closed = true
    this.disarm()
    this.lost += this.waiting.length
    this.waiting = []
    this.tell()
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
    this.tell()
    this.lost = 0
    this.toldOf = 0
    this.writing = undefined
    if (this.waiting.length > 0) this.arm()
  }

  private tell(): void {
    const count = this.lost - this.toldOf
    this.toldOf = this.lost
    if (count > 0) this.options.dropped(count)
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
