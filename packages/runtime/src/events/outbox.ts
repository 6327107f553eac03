import type { Clock } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'

/** How long records wait for company, and how many are written at once. */
const FLUSH_DELAY_MS = 100
const BATCH_SIZE = 500

/** How long a store that refused is left alone. */
const RETRY_DELAY_MS = 1000

/** How long the end waits for a store that does not answer. */
const CLOSE_TIMEOUT_MS = 10_000

export interface OutboxOptions<T> {
  clock: Clock
  /** Writes a batch. */
  writeBatch(records: readonly T[]): Promise<void>
  /** How many may wait; beyond it new ones are dropped. */
  capacity: number
  /** Told how many were dropped since it was told last: when the store answers, and before where they are many. */
  onDropped(count: number): void
  /** Told of the first failure of a row of them. */
  onFailed(error: unknown): void
}

/** Records on their way to the store: in batches, in order, without anybody waiting for it. */
export class Outbox<T> {
  private pending: T[] = []
  /** How many were dropped since the store last answered, and how many of them have been told of. */
  private dropped = 0
  private reportedDropped = 0
  private timer: unknown = undefined
  private currentWrite: Promise<void> | undefined = undefined
  private isFailing = false
  private isClosed = false
  private readonly options: OutboxOptions<T>

  constructor(options: OutboxOptions<T>) {
    this.options = options
  }

  /** Whether the next record can be taken. */
  get hasRoom(): boolean {
    return !this.isClosed && this.pending.length < this.options.capacity
  }

  add(record: T): void {
    if (!this.hasRoom) {
      // A store that never answers is told of all the same.
      if (++this.dropped >= Math.max(BATCH_SIZE, 10 * this.reportedDropped)) this.reportDropped()
      return
    }
    this.pending.push(record)
    if (this.currentWrite !== undefined) return
    if (this.pending.length >= BATCH_SIZE && !this.isFailing) void this.flush()
    else this.startTimer()
  }

  /** Writes what waits now. Resolves when it is written, or when the store has refused it. */
  flush(): Promise<void> {
    this.clearTimer()
    // Whoever comes while records are written waits for the same writing: it goes on until nothing waits.
    // Records of many calls are written together, in the async context of none of them.
    this.currentWrite ??= runOutsideContext(() => this.writePending())
    return this.currentWrite
  }

  /** Writes what can be written. What comes afterwards is dropped, and no timer is left. */
  async close(): Promise<void> {
    const { clock } = this.options
    let timer: unknown
    const timeout = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, CLOSE_TIMEOUT_MS)
    })
    await Promise.race([this.flush(), timeout])
    clock.clearTimer(timer)
    this.isClosed = true
    this.clearTimer()
    this.dropped += this.pending.length
    this.pending = []
    this.reportDropped()
  }

  private async writePending(): Promise<void> {
    const { writeBatch, onFailed } = this.options
    await Promise.resolve() // until `writing` is set: it is unset below
    try {
      while (this.pending.length > 0) {
        const batch = this.pending.slice(0, BATCH_SIZE)
        await writeBatch(batch)
        this.pending = this.pending.slice(batch.length)
        this.isFailing = false
      }
    } catch (error) {
      const isFirstFailure = !this.isFailing
      this.isFailing = true
      if (isFirstFailure) onFailed(error)
    }
    this.reportDropped()
    this.dropped = 0
    this.reportedDropped = 0
    this.currentWrite = undefined
    if (this.pending.length > 0) this.startTimer()
  }

  private reportDropped(): void {
    const count = this.dropped - this.reportedDropped
    this.reportedDropped = this.dropped
    if (count > 0) this.options.onDropped(count)
  }

  private startTimer(): void {
    if (this.isClosed) return
    this.timer ??= this.options.clock.setTimer(
      () => void this.flush(),
      this.isFailing ? RETRY_DELAY_MS : FLUSH_DELAY_MS,
    )
  }

  private clearTimer(): void {
    this.options.clock.clearTimer(this.timer)
    this.timer = undefined
  }
}
