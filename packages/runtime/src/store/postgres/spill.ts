import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from 'holdfast'
import { systemClock } from 'holdfast/engine'
import type { DeadLetter } from '../../records/dead-letter.js'
import { messageOf } from '../../records/summary.js'
import { filesStore } from '../files/index.js'
import type { Added, DeadLetterStore, Store } from '../store.js'

/** How many entries are moved at a time. */
const SLICE = 100

/** How long to wait before the next try to move, in milliseconds, at first and at the most. */
const PAUSE = { first: 250, longest: 15_000 } as const

/** Leases play no part here: the spill only holds what waits. */
const NEVER = new Date(0)

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

/** What the spill is given. */
interface SpillOptions {
  /** The folder it lies in. Several processes may share one. */
  dir: string
  /** Where entries are moved to. */
  target: Pick<DeadLetterStore, 'add' | 'isProcessed'>
  clock?: Clock | undefined
  warn(line: string): void
}

/**
 * Keeps dead letters on this machine's disk while the database cannot be had, and moves them over when it can. It is a store
 * of files, so an entry is flushed before it is acknowledged, and is found again by the next process after a crash.
 */
export class Spill {
  private readonly options: SpillOptions
  private readonly clock: Clock
  private files: Promise<Store> | undefined
  private moving: Promise<void> | undefined
  private timer: unknown
  private pause: number = PAUSE.first
  private closed = false
  /** Ids of those that the database refused though it is well: told of once, and left where they are. */
  private readonly refused = new Set<string>()

  constructor(options: SpillOptions) {
    this.options = options
    this.clock = options.clock ?? systemClock
  }

  /** Takes up what an earlier process left. */
  resume(): void {
    this.closed = false
    if (existsSync(join(this.options.dir, 'dlq'))) this.soon(0)
  }

  async close(): Promise<void> {
    this.closed = true
    this.clock.clearTimer(this.timer)
    await this.moving
    await (await this.files)?.close()
    this.files = undefined
  }

  /** Keeps entries, with the results the database would have given as far as they can be known here. */
  async keep(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    const first = this.files === undefined
    const results = await (await this.open()).deadLetters.add(entries, limits)
    if (first) this.options.warn(`dead letters are kept in ${this.options.dir} until PostgreSQL is back`)
    this.soon(this.pause)
    return results
  }

  /** An entry that has not been moved yet. */
  async get(id: string): Promise<DeadLetter | undefined> {
    return this.files === undefined ? undefined : (await this.files).deadLetters.get(id, NEVER)
  }

  /** Hears that the database answers again: what waits need not wait any longer. */
  nudge(): void {
    if (this.timer === undefined || this.pause === PAUSE.first) return
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.pause = PAUSE.first
    this.soon(0)
  }

  /** Moves what is there, now. Resolves when it is moved, or could not be. */
  async move(): Promise<void> {
    // What is under way may have looked before the last entry came.
    if (this.moving !== undefined) this.soon(this.pause)
    this.moving ??= this.moveAll().finally(() => {
      this.moving = undefined
    })
    await this.moving
  }

  private open(): Promise<Store> {
    this.files ??= (async () => {
      const store = filesStore(this.options.dir, { warn: this.options.warn })
      await store.open()
      return store
    })().catch((error: unknown) => {
      this.files = undefined
      throw error
    })
    return this.files
  }

  private soon(ms: number): void {
    if (this.closed || this.timer !== undefined) return
    this.timer = this.clock.setTimer(() => {
      this.timer = undefined
      void this.move()
    }, ms)
  }

  private async moveAll(): Promise<void> {
    try {
      const { deadLetters } = await this.open()
      let moved = 0
      for (let cursor: string | undefined; !this.closed; ) {
        const page = await deadLetters.list({ limit: SLICE, cursor }, NEVER)
        const gone = await this.over(page.items.filter(({ dlqId }) => !this.refused.has(dlqId)))
        await deadLetters.purge({ ids: gone }, NEVER)
        moved += gone.length
        cursor = page.cursor
        if (cursor === undefined) break
      }
      if (moved > 0)
        this.options.warn(`${moved} dead letters kept in ${this.options.dir} were moved to PostgreSQL`)
      this.pause = PAUSE.first
    } catch {
      this.pause = Math.min(2 * this.pause, PAUSE.longest)
      this.soon(this.pause)
    }
  }

  /** Hands entries to the database. Gives the ids of those it has. Throws where it cannot be had. */
  private async over(entries: readonly DeadLetter[]): Promise<string[]> {
    const { target } = this.options
    // One that was moved, completed and let go of before this process knew must not come back.
    const fresh: DeadLetter[] = []
    for (const entry of entries) if (!(await target.isProcessed(entry.dlqId))) fresh.push(entry)
    const results = await target.add(fresh, NO_LIMIT).catch(() => this.oneByOne(fresh))
    const gone = new Set(entries.map(({ dlqId }) => dlqId))
    for (const [i, entry] of fresh.entries()) {
      const result = results[i]
      if (result?.result === 'conflict') await target.add([apart(entry)], NO_LIMIT)
      if (result === undefined) gone.delete(entry.dlqId)
    }
    return [...gone]
  }

  private async oneByOne(entries: readonly DeadLetter[]): Promise<(Added | undefined)[]> {
    const results: (Added | undefined)[] = []
    for (const entry of entries)
      try {
        results.push(...(await this.options.target.add([entry], NO_LIMIT)))
      } catch (error) {
        // This asks the database something harmless: where that fails too, it is not the entry's fault.
        await this.options.target.isProcessed(entry.dlqId)
        this.refused.add(entry.dlqId)
        this.options.warn(`a dead letter stays in ${this.options.dir}: ${messageOf(error)}`)
        results.push(undefined)
      }
    return results
  }
}

/**
 * Acknowledged here while another process gave its idempotency key to another payload there: it is kept under a key of its
 * own rather than lost.
 */
const apart = (entry: DeadLetter): DeadLetter => ({
  ...entry,
  idempotencyKey: `${entry.idempotencyKey}~${entry.dlqId}`,
})
