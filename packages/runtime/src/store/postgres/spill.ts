import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/engine'
import type { DeadLetter } from '../../records/dead-letter.js'
import { messageOf } from '../../records/summary.js'
import { filesStore } from '../files/index.js'
import { isSealed, samePayload } from '../payload.js'
import type { Added, DeadLetterStore, Store } from '../store.js'

/** How many entries are moved at a time. */
const SLICE = 250

/** How long to wait before the next try to move, in milliseconds, at first and at the most. */
const PAUSE = { first: 250, longest: 2000 } as const

/** Leases play no part here: the spill only holds what waits. */
const NEVER = new Date(0)

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

/** Where entries are moved to. */
interface SpillTarget {
  add: DeadLetterStore['add']
  /** Those of the ids that were completed ever. Fails soon where the database cannot be had. */
  processed(ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Notes that what was acknowledged as one is another, which was there before. */
  alias(ids: ReadonlyMap<string, string>): Promise<void>
}

/** What the spill is given. */
interface SpillOptions {
  /** The folder it lies in. Several processes may share one, where they share the database. */
  dir: string
  /** The database that it belongs to, without credentials. */
  of: string
  target: SpillTarget
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
  private compare: ((a: DeadLetter, b: DeadLetter) => boolean) | undefined

  constructor(options: SpillOptions) {
    this.options = options
    this.clock = options.clock ?? systemClock
  }

  /** Takes up what an earlier process left. */
  resume(): void {
    this.closed = false
    if (!existsSync(join(this.options.dir, 'dlq'))) return
    // Opened at once: what waits there can be asked for.
    this.open().catch((error: unknown) => this.options.warn(messageOf(error)))
    this.soon(0)
  }

  /** Moves what can be moved, and lets go. */
  async close(): Promise<void> {
    this.closed = true
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    await this.moving
    if (this.files !== undefined) await this.moveAll()
    await (await this.files)?.close()
    this.files = undefined
  }

  /** Hands in who can tell whether two entries have the same payload, though it may be encrypted. */
  compareWith(same: (a: DeadLetter, b: DeadLetter) => boolean): void {
    this.compare = same
    if (this.files !== undefined) this.soon(0)
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
      const { dir, of, warn } = this.options
      const store = filesStore(dir, { warn })
      await store.open()
      await claim(dir, of).catch(async (error: unknown) => {
        await store.close()
        throw error
      })
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
      for (let cursor: string | undefined; ; ) {
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
    if (entries.length === 0) return []
    const { target } = this.options
    const gone = new Set(entries.map(({ dlqId }) => dlqId))
    // One that was moved, completed and let go of before this process knew must not come back.
    const done = await target.processed([...gone])
    const fresh = entries.filter(({ dlqId }) => !done.has(dlqId))
    const results = await target.add(fresh, NO_LIMIT).catch(() => this.oneByOne(fresh))
    const others: DeadLetter[] = []
    const aliases = new Map<string, string>()
    for (const [i, entry] of fresh.entries()) {
      const there = heldBy(results[i])
      const same = there && (there.dlqId === entry.dlqId || this.isSame(entry, there))
      if (same === undefined) gone.delete(entry.dlqId)
      else if (!same) others.push(apart(entry))
      else if (there?.dlqId !== entry.dlqId) aliases.set(entry.dlqId, there?.dlqId as string)
    }
    if (others.length > 0) await target.add(others, NO_LIMIT)
    if (aliases.size > 0) await target.alias(aliases)
    return [...gone]
  }

  /** Whether two entries with one key are the same thing to do; undefined where nobody here can tell. */
  private isSame(entry: DeadLetter, there: DeadLetter): boolean | undefined {
    if (entry.operationType !== there.operationType) return false
    const payloads = [entry.originalPayload, there.originalPayload] as const
    if (!payloads.some(isSealed)) return samePayload(...payloads)
    try {
      return this.compare?.(entry, there)
    } catch (error) {
      this.stays(entry, error)
      return undefined
    }
  }

  private async oneByOne(entries: readonly DeadLetter[]): Promise<(Added | undefined)[]> {
    const results: (Added | undefined)[] = []
    for (const entry of entries)
      try {
        results.push(...(await this.options.target.add([entry], NO_LIMIT)))
      } catch (error) {
        // This asks the database something harmless: where that fails too, it is not the entry's fault.
        await this.options.target.processed([entry.dlqId])
        this.stays(entry, error)
        results.push(undefined)
      }
    return results
  }

  private stays({ dlqId }: DeadLetter, error: unknown): void {
    this.refused.add(dlqId)
    this.options.warn(`the dead letter ${dlqId} stays in ${this.options.dir}: ${messageOf(error)}`)
  }
}

const heldBy = (added: Added | undefined): DeadLetter | undefined =>
  added === undefined || added.result === 'full' ? undefined : added.entry

/** Writes down whose entries lie in a folder. @throws STORE_UNAVAILABLE where they are another database's */
async function claim(dir: string, of: string): Promise<void> {
  const file = join(dir, 'store.txt')
  const found = await readFile(file, 'utf8').catch(() => '')
  if (found === '') return writeFile(file, of, { mode: 0o600 })
  if (found !== of)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the dead letters in ${dir} wait for ${found}, and this is ${of}; move the folder away`,
      { status: 503 },
    )
}

/**
 * Acknowledged here while another process gave its idempotency key to another payload there: it is kept under a key of its
 * own rather than lost.
 */
const apart = (entry: DeadLetter): DeadLetter => ({
  ...entry,
  idempotencyKey: `${entry.idempotencyKey}~${entry.dlqId}`,
})
