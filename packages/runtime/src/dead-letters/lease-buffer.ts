import type { RuntimeContext } from '@holdfast/config'
import { type DeadLetter, summarizeError } from '@holdfast/records'
import type { DeadLetterStore } from '@holdfast/store'
import type { LeaseOwnerIds, ReplayExecutor } from './replay-executor.js'

/** An entry that was leased, and the owner of its lease. */
export interface LeasedEntry {
  readonly entry: DeadLetter
  readonly owner: string
}

/** As many entries are leased ahead as were begun in the last so many milliseconds. */
const LEASE_AHEAD_MS = 200

/** How long (ms) a leased entry waits for a free handler before others may have it. */
const MAX_WAIT_MS = 2000

/** What a buffer of leases is for. */
interface LeaseBufferOptions {
  readonly runtime: RuntimeContext
  readonly replays: ReplayExecutor
  readonly owners: LeaseOwnerIds
  /** How many handlers run at a time: no more are leased before it is known how fast they are. */
  readonly concurrency: number
  /** How many entries are begun in a second at most. @defaultValue no limit */
  readonly rate?: number | undefined
  /** Which entries are wanted now; undefined where none are. */
  readonly want: () => Promise<Omit<Parameters<DeadLetterStore['leaseNext']>[0], 'limit'> | undefined>
  /** How many handlers are free, given how many callers wait. */
  readonly free: (callers: number) => number
  /** How many entries may be leased at most, given how many callers wait. */
  readonly most: (callers: number) => number
  /** Whether an entry is still wanted when its turn comes. */
  readonly isWanted: (entry: DeadLetter) => boolean
}

/**
 * Leases entries for handlers. Where the store says that it pays (`leaseBatch`), as many are leased in one transaction as the
 * handlers get through in a moment. One that is not begun soon is given back, so that a slow handler keeps nothing from others.
 */
export class LeaseBuffer {
  private readonly options: LeaseBufferOptions
  private readonly maxBatch: number
  private ready: LeasedEntry[] = []
  private fetching: Promise<number> | undefined = undefined
  private callers = 0
  /** How many are leased at a time, when they were, and how many of them there were. */
  private batch: number
  private fetchedAt = 0
  private fetched = 0
  private short = false
  private timer: unknown = undefined
  private readonly releasing = new Set<Promise<void>>()

  constructor(options: LeaseBufferOptions) {
    this.options = options
    const { concurrency, runtime, rate = Number.POSITIVE_INFINITY } = options
    const { leaseBatch = 1 } = runtime.store.deadLetters
    this.maxBatch = Math.min(leaseBatch, Math.ceil((rate * LEASE_AHEAD_MS) / 1000))
    this.batch = Math.min(concurrency, this.maxBatch)
  }

  /** Whether nothing is left in it, and there was less to be had than was asked for. */
  get isDrained(): boolean {
    return this.ready.length === 0 && this.short
  }

  /** The next entry to replay; undefined where there is none. */
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

  /** Gives back an entry that was not begun. */
  giveBack({ entry, owner }: LeasedEntry): void {
    const { runtime, replays: replayExecutor } = this.options
    const settled = runtime.store.deadLetters.settle(entry.dlqId, owner, {
      status: 'pending',
      at: replayExecutor.now(),
    })
    const released: Promise<void> = settled
      .then(
        () => {},
        // It is free again when its lease ends.
        (error: unknown) =>
          runtime.logger.warn(
            { dlqId: entry.dlqId, error: summarizeError(error, (text) => runtime.redact(text), false) },
            'a dead letter that was leased and not begun could not be given back before its lease ends',
          ),
      )
      .finally(() => this.releasing.delete(released))
    this.releasing.add(released)
  }

  /** Gives back all that is not begun. */
  async close(): Promise<void> {
    await this.fetching?.catch(() => {})
    this.giveBackAll()
    await Promise.all(this.releasing)
  }

  private giveBackAll(): void {
    this.options.runtime.clock.clearTimer(this.timer)
    for (const leased of this.ready) this.giveBack(leased)
    this.ready = []
  }

  private takeReady(): LeasedEntry | undefined {
    for (;;) {
      const leased = this.ready.shift()
      if (this.ready.length === 0) this.options.runtime.clock.clearTimer(this.timer)
      if (leased === undefined || this.options.isWanted(leased.entry)) return leased
      this.giveBack(leased)
    }
  }

  private async fetch(): Promise<number> {
    const { free, runtime, most, owners: leaseOwners, replays: replayExecutor, want } = this.options
    const { clock } = runtime
    const wanted = await want()
    this.short = wanted === undefined
    if (wanted === undefined) return 0
    this.batch = this.nextBatch()
    const limit = Math.min(Math.max(free(this.callers), this.batch), most(this.callers))
    const owner = leaseOwners.nextId()
    const entries = await runtime.store.deadLetters.leaseNext(
      { ...wanted, limit },
      owner,
      replayExecutor.leaseEnd(),
      replayExecutor.now(),
    )
    this.short = entries.length < limit
    this.fetched = entries.length
    this.fetchedAt = clock.now()
    this.ready.push(...entries.map((entry) => ({ entry, owner })))
    clock.clearTimer(this.timer)
    if (this.ready.length > 0) this.timer = clock.setTimer(() => this.giveBackAll(), MAX_WAIT_MS)
    return entries.length
  }

  /** As many as were begun lately, and at most twice as many as the last time. */
  private nextBatch(): number {
    const { concurrency, runtime } = this.options
    if (this.fetched === 0) return Math.min(concurrency, this.maxBatch)
    const took = Math.max(1, runtime.clock.now() - this.fetchedAt)
    const lately = Math.floor((this.fetched * LEASE_AHEAD_MS) / took)
    return Math.min(this.maxBatch, Math.max(concurrency, Math.min(lately, 2 * this.batch)))
  }
}
