import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DeadLetter, errorMessageOf } from '@holdfast/records'
import { type Clock, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { filesStore } from '../files/index.js'
import { isEncrypted, isSamePayload } from '../payload.js'
import type { Added, DeadLetterStore, Store } from '../store.js'
import type { Inserted } from './dead-letter-inserts.js'
import { isServerUnavailable } from './failure.js'

/** How many entries are moved in one transaction. */
const MOVE_BATCH_SIZE = 250

/** How long to wait before the next attempt to move, in milliseconds: at first, and at most. */
const MOVE_DELAY_MS = { first: 250, max: 2000 } as const

/** How many rejected statements end an attempt to move: a database that rejects everything is not asked for each entry. */
const MAX_REJECTIONS = 16

/** Leases play no part here: the spill only holds what waits. */
const NO_LEASE_TIME = new Date(0)

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

/** Where entries are moved to. */
interface DiskFallbackTarget {
  /** Inserts entries. One that the database cannot hold is `rejected`; any other failure throws. */
  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Inserted[]>
  /** Those of the ids that were completed ever. Fails soon where the database cannot be had. */
  processed(ids: readonly string[]): Promise<ReadonlySet<string>>
  /** Notes that what was acknowledged as one is another, which was there before. */
  alias(ids: ReadonlyMap<string, string>): Promise<void>
}

/** What the spill is given. */
interface DiskFallbackOptions {
  /** The folder it lies in. Several processes may share one, where they share the database. */
  dir: string
  /** The database that it belongs to, without credentials. */
  databaseName: string
  target: DiskFallbackTarget
  clock?: Clock | undefined
  warn(line: string): void
}

/**
 * Keeps dead letters on this machine's disk while the database cannot be had, and moves them over when it can. It is a store
 * of files, so an entry is flushed before it is acknowledged, and is found again by the next process after a crash.
 *
 * An entry is given up on, until the next process or until it is asked for by its id, only where the database says that it
 * cannot hold this very entry. Every other failure is retried, and an entry that fails holds up no other.
 */
export class DiskFallback {
  private readonly options: DiskFallbackOptions
  private readonly clock: Clock
  private files: Promise<Store> | undefined
  private currentMove: Promise<void> | undefined
  private timer: unknown
  private delay: number = MOVE_DELAY_MS.first
  private isClosed = false
  /** Whether it was said that entries are kept here, since there were none. */
  private hasWarned = false
  /** Ids of entries that the database cannot hold, or that nobody here can compare: reported once, and left on the disk. */
  private readonly unmovableIds = new Set<string>()
  /** Ids of entries whose own insert failed for another reason. They are tried last, the longest untried first. */
  private readonly suspectIds = new Set<string>()
  private isSamePayload: ((a: DeadLetter, b: DeadLetter) => boolean) | undefined
  private onMovedListener: (() => void) | undefined

  constructor(options: DiskFallbackOptions) {
    this.options = options
    this.clock = options.clock ?? systemClock
  }

  /** Takes up what an earlier process left. */
  resume(): void {
    this.isClosed = false
    this.unmovableIds.clear()
    if (!existsSync(join(this.options.dir, 'dlq'))) return
    // Opened at once: what waits there can be asked for.
    this.open().catch((error: unknown) => this.options.warn(errorMessageOf(error)))
    this.schedule(0)
  }

  /** Moves what can be moved, and closes the files. */
  async close(): Promise<void> {
    this.isClosed = true
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    await this.currentMove
    if (this.files !== undefined) await this.moveAll()
    await (await this.files)?.close()
    this.files = undefined
  }

  /** Hands in who can tell whether two entries have the same payload, though it may be encrypted. */
  compareWith(same: (a: DeadLetter, b: DeadLetter) => boolean): void {
    this.isSamePayload = same
    if (this.files !== undefined) this.schedule(0)
  }

  /** Hands in what is called when entries were moved: the database takes writes again. */
  onMoved(listener: () => void): void {
    this.onMovedListener = listener
  }

  /** Keeps entries, with the results the database would have given as far as they can be known here. */
  async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    const results = await (await this.open()).deadLetters.add(entries, limits)
    if (!this.hasWarned)
      this.options.warn(`dead letters are kept in ${this.options.dir} until PostgreSQL accepts them`)
    this.hasWarned = true
    this.schedule(this.delay)
    return results
  }

  /** An entry that has not been moved yet. */
  async get(id: string): Promise<DeadLetter | undefined> {
    return this.files === undefined ? undefined : (await this.files).deadLetters.get(id, NO_LEASE_TIME)
  }

  /** Deletes entries that have not been moved yet. Tells how many. */
  async purge(filter: Parameters<DeadLetterStore['purge']>[0]): Promise<number> {
    return this.files === undefined ? 0 : (await this.files).deadLetters.purge(filter, NO_LEASE_TIME)
  }

  /** Moves an entry that is asked for now, even one that was given up on. */
  async retry(id: string): Promise<void> {
    this.unmovableIds.delete(id)
    // What is under way may have passed it already.
    await this.currentMove
    await this.move()
  }

  /** The error for something that needs an entry in the database while it is still here. */
  createNotMovedError(id: string): HoldfastError {
    return new HoldfastError(
      'STORE_UNAVAILABLE',
      `the dead letter ${id} is on this machine's disk, in ${this.options.dir}, and PostgreSQL has not accepted it yet`,
      { status: 503, retryAfter: this.delay },
    )
  }

  /** Moves at once because the database takes writes again. */
  retryNow(): void {
    if (this.timer === undefined || this.delay === MOVE_DELAY_MS.first) return
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.delay = MOVE_DELAY_MS.first
    this.schedule(0)
  }

  /** Moves what is there, now. Resolves when it is moved, or could not be. */
  async move(): Promise<void> {
    // What is under way may have looked before the last entry came.
    if (this.currentMove !== undefined) this.schedule(this.delay)
    this.currentMove ??= this.moveAll().finally(() => {
      this.currentMove = undefined
    })
    await this.currentMove
  }

  /** Resolves when nothing is being moved. */
  async whenIdle(): Promise<void> {
    await this.currentMove
  }

  private open(): Promise<Store> {
    this.files ??= (async () => {
      const { dir, databaseName, warn } = this.options
      const store = filesStore(dir, { warn })
      await store.open()
      await claimFolder(dir, databaseName).catch(async (error: unknown) => {
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

  private schedule(ms: number): void {
    if (this.isClosed || this.timer !== undefined) return
    this.timer = this.clock.setTimer(() => {
      this.timer = undefined
      void this.move()
    }, ms)
  }

  private async moveAll(): Promise<void> {
    const pass = { moved: 0, rejections: 0 }
    try {
      const { deadLetters } = await this.open()
      const earlier = [...this.suspectIds]
      const suspects = new Map<string, DeadLetter>()
      let left = 0
      for (let cursor: string | undefined; ; ) {
        const page = await deadLetters.list({ limit: MOVE_BATCH_SIZE, cursor }, NO_LEASE_TIME)
        const fresh: DeadLetter[] = []
        for (const entry of page.items)
          if (this.suspectIds.has(entry.dlqId)) suspects.set(entry.dlqId, entry)
          else if (!this.unmovableIds.has(entry.dlqId)) fresh.push(entry)
          else left++
        await this.moveBatch(fresh, pass)
        cursor = page.cursor
        if (cursor === undefined) break
      }
      // Another process may have moved some of them.
      for (const id of earlier) if (!suspects.has(id)) this.suspectIds.delete(id)
      const again = earlier.flatMap((id) => suspects.get(id) ?? [])
      for (let at = 0; at < again.length; at += MOVE_BATCH_SIZE)
        await this.moveBatch(again.slice(at, at + MOVE_BATCH_SIZE), pass)
      if (this.suspectIds.size > 0) this.retryLater()
      else this.delay = MOVE_DELAY_MS.first
      this.hasWarned &&= this.suspectIds.size + left > 0
    } catch (error) {
      this.retryLater((error as { retryAfter?: unknown }).retryAfter)
    }
    if (pass.moved === 0) return
    this.options.warn(`${pass.moved} dead letters kept in ${this.options.dir} were moved to PostgreSQL`)
    this.onMovedListener?.()
  }

  /** Waits longer than the last time, but no longer than the database itself says. */
  private retryLater(retryAfter?: unknown): void {
    this.delay = Math.min(2 * this.delay, MOVE_DELAY_MS.max)
    this.schedule(typeof retryAfter === 'number' ? Math.min(retryAfter, this.delay) : this.delay)
  }

  /**
   * Moves entries together. Where the server reports that it did not insert them, they are tried in halves, down to the
   * single entry whose insert fails. Throws where the server cannot be had, or rejects too much.
   */
  private async moveBatch(
    entries: readonly DeadLetter[],
    pass: { moved: number; rejections: number },
  ): Promise<void> {
    if (entries.length === 0) return
    let gone: readonly string[]
    try {
      gone = await this.insert(entries)
    } catch (error) {
      const [first] = entries
      if (entries.length === 1 && first !== undefined && !isServerUnavailable(error)) {
        this.suspectIds.delete(first.dlqId)
        this.suspectIds.add(first.dlqId)
      }
      if (isServerUnavailable(error) || ++pass.rejections >= MAX_REJECTIONS) throw error
      const half = Math.ceil(entries.length / 2)
      if (entries.length === 1) return
      await this.moveBatch(entries.slice(0, half), pass)
      await this.moveBatch(entries.slice(half), pass)
      return
    }
    await (await this.open()).deadLetters.purge({ ids: gone }, NO_LEASE_TIME)
    for (const id of gone) this.suspectIds.delete(id)
    pass.moved += gone.length
  }

  /** Inserts entries into the database. Gives the ids of those it has. */
  private async insert(entries: readonly DeadLetter[]): Promise<string[]> {
    const { target } = this.options
    const gone = new Set(entries.map(({ dlqId }) => dlqId))
    // One that was moved, completed and purged before this process knew must not come back.
    const done = await target.processed([...gone])
    const fresh = entries.filter(({ dlqId }) => !done.has(dlqId))
    const results = fresh.length === 0 ? [] : await target.add(fresh, NO_LIMIT)
    const others: DeadLetter[] = []
    const aliases = new Map<string, string>()
    for (const [i, entry] of fresh.entries()) {
      const there = this.existingEntry(entry, results[i])
      const same = there && (there.dlqId === entry.dlqId || this.isSameEntry(entry, there))
      if (same === undefined) gone.delete(entry.dlqId)
      else if (!same) others.push(withNewKey(entry))
      else if (there?.dlqId !== entry.dlqId) aliases.set(entry.dlqId, there?.dlqId as string)
    }
    if (others.length > 0) {
      const added = await target.add(others, NO_LIMIT)
      for (const [i, entry] of others.entries())
        if (this.existingEntry(entry, added[i]) === undefined) gone.delete(entry.dlqId)
    }
    if (aliases.size > 0) await target.alias(aliases)
    return [...gone]
  }

  /** The entry that the database has under an entry's id or key; undefined where it has none. */
  private existingEntry(entry: DeadLetter, inserted: Inserted | undefined): DeadLetter | undefined {
    if (inserted?.result === 'rejected') this.markUnmovable(entry, inserted.error)
    return inserted !== undefined && 'entry' in inserted ? inserted.entry : undefined
  }

  /** Whether two entries with one key are the same thing to do; undefined where nobody here can tell. */
  private isSameEntry(entry: DeadLetter, there: DeadLetter): boolean | undefined {
    if (entry.operationType !== there.operationType) return false
    const payloads = [entry.originalPayload, there.originalPayload] as const
    if (!payloads.some(isEncrypted)) return isSamePayload(...payloads)
    try {
      return this.isSamePayload?.(entry, there)
    } catch (error) {
      this.markUnmovable(entry, error)
      return undefined
    }
  }

  private markUnmovable({ dlqId }: DeadLetter, error: unknown): void {
    this.suspectIds.delete(dlqId)
    this.unmovableIds.add(dlqId)
    this.options.warn(`the dead letter ${dlqId} stays in ${this.options.dir}: ${errorMessageOf(error)}`)
  }
}

/** Writes down whose entries lie in a folder. @throws STORE_UNAVAILABLE where they are another database's */
async function claimFolder(dir: string, of: string): Promise<void> {
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
const withNewKey = (entry: DeadLetter): DeadLetter => ({
  ...entry,
  idempotencyKey: `${entry.idempotencyKey}~${entry.dlqId}`,
})
