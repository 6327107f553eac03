import { type DeadLetter, errorMessageOf } from '@holdfast/records'
import { type Clock, HoldfastError } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { Added, DeadLetterStore } from '../dead-letter-store.js'
import type { Store } from '../store.js'
import { isServerUnavailable } from './failure.js'
import { createFallbackFolder, type FallbackFolder } from './fallback-folder.js'
import { type DiskFallbackTarget, FallbackInserts } from './fallback-inserts.js'

/** How many entries are moved in one transaction. */
const MOVE_BATCH_SIZE = 250

/** The first and the longest delay before the next attempt to move entries. */
const MOVE_DELAY_MS = { first: 250, max: 2000 } as const

/** How many rejected statements end an attempt to move, so that a database that rejects everything does not get every entry. */
const MAX_REJECTIONS = 16

/** Entries in the disk fallback are never leased, so the time does not matter. */
const NO_LEASE_TIME = new Date(0)

interface DiskFallbackOptions {
  /** The folder of the entries. Processes with the same database can share it. */
  dir: string
  /** The database that the entries belong to, without credentials. */
  databaseName: string
  target: DiskFallbackTarget
  clock?: Clock | undefined
  /** @defaultValue `dir` on the local disk */
  folder?: FallbackFolder | undefined
  warn(line: string): void
}

/**
 * Stores dead letters on the local disk while the database is not available, and moves them to the database afterwards. It uses a
 * files store, so an entry is flushed before it is acknowledged, and the next process finds it after a crash.
 *
 * An entry stays here, until the next start or until it is requested by its id, only if the database reports that it cannot store
 * this entry. Every other failure is retried, and a failing entry does not delay others.
 */
export class DiskFallback {
  private readonly options: DiskFallbackOptions
  private readonly clock: Clock
  private readonly folder: FallbackFolder
  private files: Promise<Store> | undefined
  private currentMove: Promise<void> | undefined
  private timer: unknown
  private delay: number = MOVE_DELAY_MS.first
  private isClosed = false
  /** Whether a warning about stored entries was given since the folder was last empty. */
  private hasWarned = false
  /** Ids of entries that the database cannot store, or that cannot be compared without a key. They are reported once and stay here. */
  private readonly unmovableIds = new Set<string>()
  /** Ids of entries whose insert failed for another reason. They are retried last, the least recently tried first. */
  private readonly suspectIds = new Set<string>()
  private readonly inserts: FallbackInserts
  private onMovedListener: (() => void) | undefined

  constructor(options: DiskFallbackOptions) {
    this.options = options
    this.inserts = new FallbackInserts(
      options.target,
      (entry, error) => this.markUnmovable(entry, error),
      (entries) => this.warnExpired(entries),
    )
    this.clock = options.clock ?? systemClock
    const { dir, databaseName, warn } = options
    this.folder = options.folder ?? createFallbackFolder(dir, databaseName, warn)
  }

  /** Starts to move the entries that an earlier process left. */
  resume(): void {
    this.isClosed = false
    this.unmovableIds.clear()
    if (!this.folder.hasEntries()) return
    // Opened at once, so that the entries can be read by id.
    this.open().catch((error: unknown) => this.options.warn(errorMessageOf(error)))
    this.schedule(0)
  }

  /** Moves as many entries as possible, and closes the files. */
  async close(): Promise<void> {
    this.isClosed = true
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    await this.currentMove
    if (this.files !== undefined) await this.moveAll()
    await (await this.files)?.close()
    this.files = undefined
  }

  /** Sets the function that compares the payloads of two entries, which may be encrypted. */
  compareWith(isSame: (a: DeadLetter, b: DeadLetter) => boolean): void {
    this.inserts.compareWith(isSame)
    if (this.files !== undefined) this.schedule(0)
  }

  /** Sets the listener that is called after entries were moved, when the database accepts writes again. */
  onMoved(listener: () => void): void {
    this.onMovedListener = listener
  }

  /** Stores entries. The results are those of the database as far as they are known here. */
  async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
    const results = await (await this.open()).deadLetters.add(entries, limits)
    if (!this.hasWarned)
      this.options.warn(`dead letters are stored in ${this.options.dir} until PostgreSQL accepts them`)
    this.hasWarned = true
    this.schedule(this.delay)
    return results
  }

  /** An entry that has not been moved yet. */
  async get(id: string): Promise<DeadLetter | undefined> {
    return this.files === undefined ? undefined : (await this.files).deadLetters.get(id, NO_LEASE_TIME)
  }

  /** Deletes entries that have not been moved yet. Returns how many. */
  async purge(filter: Parameters<DeadLetterStore['purge']>[0]): Promise<number> {
    return this.files === undefined ? 0 : (await this.files).deadLetters.purge(filter, NO_LEASE_TIME)
  }

  /** Tries to move a requested entry now, even if the database could not store it before. */
  async retry(id: string): Promise<void> {
    this.unmovableIds.delete(id)
    // The current move may have skipped it already.
    await this.currentMove
    await this.move()
  }

  /** The error of an operation that needs an entry in the database while it is still here. */
  createNotMovedError(id: string): HoldfastError {
    return new HoldfastError(
      'STORE_UNAVAILABLE',
      `the dead letter ${id} is on the local disk, in ${this.options.dir}, and PostgreSQL has not accepted it yet`,
      { status: 503, retryAfter: this.delay },
    )
  }

  /** Moves entries at once, because the database accepts writes again. */
  retryNow(): void {
    if (this.timer === undefined || this.delay === MOVE_DELAY_MS.first) return
    this.clock.clearTimer(this.timer)
    this.timer = undefined
    this.delay = MOVE_DELAY_MS.first
    this.schedule(0)
  }

  /** Moves all entries now. Resolves when they have been moved, or could not be. */
  async move(): Promise<void> {
    // The current move may have read the list before the last entry was added.
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
    this.files ??= this.folder.open().catch((error: unknown) => {
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
    const progress = { moved: 0, rejections: 0 }
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
        await this.moveBatch(fresh, progress)
        cursor = page.cursor
        if (cursor === undefined) break
      }
      // Another process may have moved some of the suspects.
      for (const id of earlier) if (!suspects.has(id)) this.suspectIds.delete(id)
      const retried = earlier.flatMap((id) => suspects.get(id) ?? [])
      for (let at = 0; at < retried.length; at += MOVE_BATCH_SIZE)
        await this.moveBatch(retried.slice(at, at + MOVE_BATCH_SIZE), progress)
      if (this.suspectIds.size > 0) this.retryLater()
      else this.delay = MOVE_DELAY_MS.first
      this.hasWarned &&= this.suspectIds.size + left > 0
    } catch (error) {
      this.retryLater((error as { retryAfter?: unknown }).retryAfter)
    }
    if (progress.moved === 0) return
    this.options.warn(`${progress.moved} dead letters were moved from ${this.options.dir} to PostgreSQL`)
    this.onMovedListener?.()
  }

  /** Doubles the delay, up to its maximum and to the `retryAfter` of the database. */
  private retryLater(retryAfter?: unknown): void {
    this.delay = Math.min(2 * this.delay, MOVE_DELAY_MS.max)
    this.schedule(typeof retryAfter === 'number' ? Math.min(retryAfter, this.delay) : this.delay)
  }

  /**
   * Moves entries together. If the server rejects them, they are tried in halves, down to the single entry whose insert fails.
   * Throws if the server is not available, or after too many rejections.
   */
  private async moveBatch(
    entries: readonly DeadLetter[],
    progress: { moved: number; rejections: number },
  ): Promise<void> {
    if (entries.length === 0) return
    let movedIds: readonly string[]
    try {
      movedIds = await this.inserts.insert(entries, this.clock.wall())
    } catch (error) {
      const [first] = entries
      if (entries.length === 1 && first !== undefined && !isServerUnavailable(error)) {
        this.suspectIds.delete(first.dlqId)
        this.suspectIds.add(first.dlqId)
      }
      if (isServerUnavailable(error) || ++progress.rejections >= MAX_REJECTIONS) throw error
      const half = Math.ceil(entries.length / 2)
      if (entries.length === 1) return
      await this.moveBatch(entries.slice(0, half), progress)
      await this.moveBatch(entries.slice(half), progress)
      return
    }
    await (await this.open()).deadLetters.purge({ ids: movedIds }, NO_LEASE_TIME)
    for (const id of movedIds) this.suspectIds.delete(id)
    progress.moved += movedIds.length
  }

  private warnExpired(entries: readonly DeadLetter[]): void {
    const ids = entries.map(({ dlqId }) => dlqId).join(', ')
    this.options.warn(
      `${entries.length} dead letters are deleted from ${this.options.dir}, because they are older than dead_letters.max_age: ${ids}`,
    )
  }

  private markUnmovable({ dlqId }: DeadLetter, error: unknown): void {
    this.suspectIds.delete(dlqId)
    this.unmovableIds.add(dlqId)
    this.options.warn(`the dead letter ${dlqId} stays in ${this.options.dir}: ${errorMessageOf(error)}`)
  }
}
