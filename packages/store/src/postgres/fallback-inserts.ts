import type { DeadLetter } from '@holdfast/records'
import { PROCESSED_ID_RETENTION_MS } from '../dead-letter-rules.js'
import { isEncrypted, isSamePayload } from '../payload.js'
import type { Inserted } from './dead-letter-inserts.js'

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

/** The queue that entries are moved to. */
export interface DiskFallbackTarget {
  /** Inserts entries. One that the database cannot hold is `rejected`; any other failure throws. */
  add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Inserted[]>
  /** Selects the ids that were ever completed. Fails without retries if the database is not available. */
  processed(ids: readonly string[]): Promise<ReadonlySet<string>>
  /** The latest completion of an entry whose processed id was deleted. Fails without retries, as `processed` does. */
  lastDeletedCompletion(): Promise<Date | undefined>
  /** Records that an acknowledged id is an alias of an entry that existed before. */
  alias(ids: ReadonlyMap<string, string>): Promise<void>
}

/** Inserts entries of the disk fallback into the database, where other processes may have inserted the same ones. */
export class FallbackInserts {
  private readonly target: DiskFallbackTarget
  /** Reports an entry that the database cannot store, or that cannot be compared without a key. */
  private readonly onUnmovable: (entry: DeadLetter, error: unknown) => void
  /** Reports entries that are too old to be inserted. */
  private readonly onExpired: (entries: readonly DeadLetter[]) => void
  private isSamePayload: ((a: DeadLetter, b: DeadLetter) => boolean) | undefined

  constructor(
    target: DiskFallbackTarget,
    onUnmovable: (entry: DeadLetter, error: unknown) => void,
    onExpired: (entries: readonly DeadLetter[]) => void,
  ) {
    this.target = target
    this.onUnmovable = onUnmovable
    this.onExpired = onExpired
  }

  /** Sets the function that compares the payloads of two entries, which may be encrypted. */
  compareWith(isSame: (a: DeadLetter, b: DeadLetter) => boolean): void {
    this.isSamePayload = isSame
  }

  /**
   * Inserts entries. Returns the ids of the entries that the database has afterwards, or that it has deleted.
   *
   * @param now - epoch milliseconds
   */
  async insert(entries: readonly DeadLetter[], now: number): Promise<string[]> {
    const { target } = this
    const movedIds = new Set(entries.map(({ dlqId }) => dlqId))
    // An entry that another process has moved, and that was completed and purged since, must not be inserted again.
    const processed = await target.processed([...movedIds])
    const unprocessed = entries.filter(({ dlqId }) => !processed.has(dlqId))
    const fresh = await this.withoutExpired(unprocessed, now)
    const results = fresh.length === 0 ? [] : await target.add(fresh, NO_LIMIT)
    const others: DeadLetter[] = []
    const aliases = new Map<string, string>()
    for (const [i, entry] of fresh.entries()) {
      const existing = this.existingEntry(entry, results[i])
      const isSame = existing && (existing.dlqId === entry.dlqId || this.isSameEntry(entry, existing))
      if (isSame === undefined) movedIds.delete(entry.dlqId)
      else if (!isSame) others.push(withNewKey(entry))
      else if (existing?.dlqId !== entry.dlqId) aliases.set(entry.dlqId, existing?.dlqId as string)
    }
    if (others.length > 0) {
      const added = await target.add(others, NO_LIMIT)
      for (const [i, entry] of others.entries())
        if (this.existingEntry(entry, added[i]) === undefined) movedIds.delete(entry.dlqId)
    }
    if (aliases.size > 0) await target.alias(aliases)
    return [...movedIds]
  }

  /**
   * The entries whose processed ids cannot have been deleted. The others are older than `max_age`, and may have been completed
   * when another process had moved them.
   */
  private async withoutExpired(entries: readonly DeadLetter[], now: number): Promise<readonly DeadLetter[]> {
    const isOld = ({ createdAt }: DeadLetter) => createdAt.getTime() < now - PROCESSED_ID_RETENTION_MS
    if (!entries.some(isOld)) return entries
    const last = await this.target.lastDeletedCompletion()
    if (last === undefined) return entries
    const isExpired = (entry: DeadLetter) => isOld(entry) && entry.createdAt <= last
    const expired = entries.filter(isExpired)
    if (expired.length > 0) this.onExpired(expired)
    return entries.filter((entry) => !isExpired(entry))
  }

  /** The entry in the database with the same id or key; undefined if there is none. */
  private existingEntry(entry: DeadLetter, inserted: Inserted | undefined): DeadLetter | undefined {
    if (inserted?.result === 'rejected') this.onUnmovable(entry, inserted.error)
    return inserted !== undefined && 'entry' in inserted ? inserted.entry : undefined
  }

  /** Whether two entries with the same key have the same operation and payload; undefined if a key to compare them is missing. */
  private isSameEntry(entry: DeadLetter, existing: DeadLetter): boolean | undefined {
    if (entry.operationType !== existing.operationType) return false
    const payloads = [entry.originalPayload, existing.originalPayload] as const
    if (!payloads.some(isEncrypted)) return isSamePayload(...payloads)
    try {
      return this.isSamePayload?.(entry, existing)
    } catch (error) {
      this.onUnmovable(entry, error)
      return undefined
    }
  }
}

/**
 * Gives an entry a key of its own. Another process has used its idempotency key for another payload meanwhile, and an acknowledged
 * entry must not be lost.
 */
const withNewKey = (entry: DeadLetter): DeadLetter => ({
  ...entry,
  idempotencyKey: `${entry.idempotencyKey}~${entry.dlqId}`,
})
