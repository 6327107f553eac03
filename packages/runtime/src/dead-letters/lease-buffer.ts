import type { RuntimeContext } from '@holdfast/config'
import { type DeadLetter, summarizeError } from '@holdfast/records'
import type { DeadLetterStore } from '@holdfast/store'
import type { LeaseOwnerIds, ReplayExecutor } from './replay-executor.js'

/** A leased entry and the owner of its lease. */
export interface LeasedEntry {
  readonly entry: DeadLetter
  readonly owner: string
}

/** As many entries are leased in advance as were started within this time. */
const LEASE_AHEAD_MS = 200

/** How long a leased entry waits for a free handler before it is released for other workers. */
const MAX_WAIT_MS = 2000

/** The options of a lease buffer. */
interface LeaseBufferOptions {
  readonly runtime: RuntimeContext
  readonly replays: ReplayExecutor
  readonly owners: LeaseOwnerIds
  /** The number of concurrent handlers, and of entries that are leased before their speed is known. */
  readonly concurrency: number
  /** The maximum number of entries that are started per second. @defaultValue no limit */
  readonly rate?: number | undefined
  /** Selects the entries to lease now; undefined where none are wanted. */
  readonly want: () => Promise<Omit<Parameters<DeadLetterStore['leaseNext']>[0], 'limit'> | undefined>
  /** The number of free handlers, given the number of waiting callers. */
  readonly free: (callers: number) => number
  /** The maximum number of entries to lease, given the number of waiting callers. */
  readonly most: (callers: number) => number
  /** Whether an entry is still wanted when a handler is free. */
  readonly isWanted: (entry: DeadLetter) => boolean
}

/**
 * Leases entries for handlers. Where the store prefers batches (`leaseBatch`), one transaction leases as many as the
 * handlers process in a moment. An entry that is not started soon is released, so that a slow handler does not block other
 * workers.
 */
export class LeaseBuffer {
  private readonly options: LeaseBufferOptions
  private readonly maxBatch: number
  private ready: LeasedEntry[] = []
  private fetching: Promise<number> | undefined = undefined
  private callers = 0
  /** The size of the next batch, when the last batch was leased, and how many entries it had. */
  private batch: number
  private fetchedAt = 0
  private fetched = 0
  /** Whether the last batch had fewer entries than requested, so that the store has no more. */
  private isLastBatchShort = false
  private timer: unknown = undefined
  private readonly releasing = new Set<Promise<void>>()

  constructor(options: LeaseBufferOptions) {
    this.options = options
    const { concurrency, runtime, rate = Number.POSITIVE_INFINITY } = options
    const { leaseBatch = 1 } = runtime.store.deadLetters
    this.maxBatch = Math.min(leaseBatch, Math.ceil((rate * LEASE_AHEAD_MS) / 1000))
    this.batch = Math.min(concurrency, this.maxBatch)
  }

  /** Whether the buffer is empty and the store returned fewer entries than requested. */
  get isDrained(): boolean {
    return this.ready.length === 0 && this.isLastBatchShort
  }

  /** Returns the next entry to replay; undefined where there is none. */
  async next(): Promise<LeasedEntry | undefined> {
    this.callers++
    try {
      for (;;) {
        const leased = this.takeReady()
        if (leased !== undefined) return leased
        this.fetching ??= this.fetch().finally(() => {
          this.fetching = undefined
        })
        if ((await this.fetching) === 0) return undefined
      }
    } finally {
      this.callers--
    }
  }

  /** Releases an entry that was not started. */
  release({ entry, owner }: LeasedEntry): void {
    const { runtime, replays: replayExecutor } = this.options
    const settled = runtime.store.deadLetters.settle(entry.dlqId, owner, {
      status: 'pending',
      at: replayExecutor.now(),
    })
    const released: Promise<void> = settled
      .then(
        () => {},
        // The entry is available again when its lease ends.
        (error: unknown) =>
          runtime.logger.warn(
            { dlqId: entry.dlqId, error: summarizeError(error, (text) => runtime.redact(text), false) },
            'a leased dead letter that was not started could not be released before its lease ends',
          ),
      )
      .finally(() => this.releasing.delete(released))
    this.releasing.add(released)
  }

  /** Releases all entries that are not started. */
  async close(): Promise<void> {
    await this.fetching?.catch(() => {})
    this.releaseAll()
    await Promise.all(this.releasing)
  }

  private releaseAll(): void {
    this.options.runtime.clock.clearTimer(this.timer)
    for (const leased of this.ready) this.release(leased)
    this.ready = []
  }

  private takeReady(): LeasedEntry | undefined {
    for (;;) {
      const leased = this.ready.shift()
      if (this.ready.length === 0) this.options.runtime.clock.clearTimer(this.timer)
      if (leased === undefined || this.options.isWanted(leased.entry)) return leased
      this.release(leased)
    }
  }

  private async fetch(): Promise<number> {
    const { free, runtime, most, owners: leaseOwners, replays: replayExecutor, want } = this.options
    const { clock } = runtime
    const wanted = await want()
    this.isLastBatchShort = wanted === undefined
    if (wanted === undefined) return 0
    this.batch = this.nextBatch()
    const limit = Math.min(Math.max(free(this.callers), this.batch), most(this.callers))
    const owner = leaseOwners.nextId()
    const now = replayExecutor.now()
    const running = replayExecutor.running.withExpiredLease(now)
    const except = running.length === 0 ? wanted.except : new Set([...(wanted.except ?? []), ...running])
    const entries = await runtime.store.deadLetters.leaseNext(
      { ...wanted, except, limit },
      owner,
      replayExecutor.leaseEnd(),
      now,
    )
    this.isLastBatchShort = entries.length < limit
    this.fetched = entries.length
    this.fetchedAt = clock.now()
    this.ready.push(...entries.map((entry) => ({ entry, owner })))
    clock.clearTimer(this.timer)
    if (this.ready.length > 0) this.timer = clock.setTimer(() => this.releaseAll(), MAX_WAIT_MS)
    return entries.length
  }

  /** As many entries as were started recently, and at most twice the size of the last batch. */
  private nextBatch(): number {
    const { concurrency, runtime } = this.options
    if (this.fetched === 0) return Math.min(concurrency, this.maxBatch)
    const took = Math.max(1, runtime.clock.now() - this.fetchedAt)
    const lately = Math.floor((this.fetched * LEASE_AHEAD_MS) / took)
    return Math.min(this.maxBatch, Math.max(concurrency, Math.min(lately, 2 * this.batch)))
  }
}
