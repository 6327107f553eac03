import type { Clock } from 'holdfast'
import { runOutsideContext } from 'holdfast/internal'

/** How long records are collected before they are written, and how many are written at once. */
const FLUSH_DELAY_MS = 100
const BATCH_SIZE = 500

/** How long an outbox waits after a failed write. */
const RETRY_DELAY_MS = 1000

/** How long `close` waits for a store that does not respond. */
const CLOSE_TIMEOUT_MS = 10_000

export interface OutboxOptions<T> {
  clock: Clock
  /** Writes a batch. */
  writeBatch(records: readonly T[]): Promise<void>
  /** How many records can wait. Further records are dropped. */
  capacity: number
  /**
   * Reports how many records were dropped since the last report: when the store responds again, or earlier where they are
   * many.
   */
  onDropped(count: number): void
  /** Reports the first of several consecutive failures. */
  onFailed(error: unknown): void
}

/** A flush that waits until this many records are written. */
interface Flush {
  readonly target: number
  resolve(): void
}

/** Writes records to a store in batches and in order. No call waits for it. */
export class Outbox<T> {
  private pending: T[] = []
  /** How many records were written since the start. */
  private writtenCount = 0
  /** The flushes that wait. A later one can have a lower target, because `close` drops records. */
  private flushes: Flush[] = []
  /** How many records were dropped since the store last responded, and how many of them have been reported. */
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

  /** Whether the next record will not be dropped. */
  get hasRoom(): boolean {
    return !this.isClosed && this.pending.length < this.options.capacity
  }

  add(record: T): void {
    if (!this.hasRoom) {
      // Drops are reported even if the store never responds again.
      if (++this.dropped >= Math.max(BATCH_SIZE, 10 * this.reportedDropped)) this.reportDropped()
      return
    }
    this.pending.push(record)
    if (this.currentWrite !== undefined) return
    if (this.pending.length >= BATCH_SIZE && !this.isFailing) void this.writeAll()
    else this.startTimer()
  }

  /** Resolves when the records that wait now are written, or when the write has failed. Later records are not waited for. */
  flush(): Promise<void> {
    const target = this.writtenCount + this.pending.length
    void this.writeAll()
    return new Promise((resolve) => this.flushes.push({ target, resolve }))
  }

  /** Writes the remaining records. Later records are dropped, and no timer remains. */
  async close(): Promise<void> {
    const { clock } = this.options
    let timer: unknown
    const timeout = new Promise<void>((resolve) => {
      timer = clock.setTimer(resolve, CLOSE_TIMEOUT_MS)
    })
    await Promise.race([this.writeAll(), timeout])
    clock.clearTimer(timer)
    this.isClosed = true
    this.clearTimer()
    this.dropped += this.pending.length
    this.pending = []
    this.reportDropped()
  }

  /** Writes until no record waits. Resolves then, or when a write has failed. */
  private writeAll(): Promise<void> {
    this.clearTimer()
    // The records belong to many calls, so the write runs outside the async context of any of them.
    this.currentWrite ??= runOutsideContext(() => this.writePending())
    return this.currentWrite
  }

  private async writePending(): Promise<void> {
    const { writeBatch, onFailed } = this.options
    await Promise.resolve() // Lets the caller assign `currentWrite`, which is reset below.
    try {
      while (this.pending.length > 0) {
        const batch = this.pending.slice(0, BATCH_SIZE)
        await writeBatch(batch)
        this.pending = this.pending.slice(batch.length)
        this.writtenCount += batch.length
        this.endFlushes(this.writtenCount)
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
    this.endFlushes(Infinity)
    if (this.pending.length > 0) this.startTimer()
  }

  /** Ends the flushes that wait for at most this many records. */
  private endFlushes(writtenCount: number): void {
    const ended = this.flushes.filter(({ target }) => target <= writtenCount)
    this.flushes = this.flushes.filter(({ target }) => target > writtenCount)
    for (const { resolve } of ended) resolve()
  }

  private reportDropped(): void {
    const count = this.dropped - this.reportedDropped
    this.reportedDropped = this.dropped
    if (count > 0) this.options.onDropped(count)
  }

  private startTimer(): void {
    if (this.isClosed) return
    this.timer ??= this.options.clock.setTimer(
      () => void this.writeAll(),
      this.isFailing ? RETRY_DELAY_MS : FLUSH_DELAY_MS,
    )
  }

  private clearTimer(): void {
    this.options.clock.clearTimer(this.timer)
    this.timer = undefined
  }
}
