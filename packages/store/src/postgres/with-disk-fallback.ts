import type { DeadLetter } from '@holdfast/records'
import { type Clock, guard, isHoldfastError, type Random } from 'holdfast'
import { systemClock, systemRandom } from 'holdfast/internal'
import type { Added, DeadLetterStore } from '../dead-letter-store.js'
import type { DeadLetterAliases } from './aliases.js'
import type { PostgresDatabase } from './database.js'
import type { Inserted } from './dead-letter-inserts.js'
import type { PostgresDeadLetters } from './dead-letters.js'
import type { DiskFallback } from './disk-fallback.js'
import { isDataError } from './failure.js'
import type { ReplayNotifications } from './replay-notifications.js'

/** A queue with notifications of replay requests, so that a worker does not have to wait for its next poll. */
export interface NotifyingDeadLetters extends DeadLetterStore {
  onRequest(listener: () => void): () => void
}

/** How many leases a process with fast handlers acquires or settles in one transaction. */
const LEASE_BATCH_SIZE = 100

interface DiskFallbackParts {
  database: PostgresDatabase
  queue: PostgresDeadLetters
  aliases: DeadLetterAliases
  diskFallback: DiskFallback
  notifications: ReplayNotifications
  /** Milliseconds that an entry waits for the database before it is written to the disk fallback. */
  addTimeout: number
  clock?: Clock | undefined
  random?: Random | undefined
}

/**
 * The queue in the database. Entries that are added while the database is not available go to the disk fallback, and the ids that
 * were acknowledged there stay valid after the entries have been moved.
 */
export function withDiskFallback(parts: DiskFallbackParts): NotifyingDeadLetters {
  const {
    database,
    queue,
    aliases,
    diskFallback,
    notifications,
    clock = systemClock,
    random = systemRandom,
  } = parts

  const isOutage = (error: unknown): boolean =>
    isHoldfastError(error, 'TOTAL_TIMEOUT') ||
    isHoldfastError(error, 'CIRCUIT_OPEN') ||
    (database.isOpen &&
      isHoldfastError(error, 'STORE_UNAVAILABLE') &&
      !isDataError((error as { cause?: unknown }).cause))

  // A caller of `add` waits with a failed call. One of them detects that the database does not respond, and the breaker sends the
  // others to the disk fallback at once. An insert that timed out may still succeed; the entry has the same id then.
  const adding = guard({
    name: 'postgres dead letters',
    clock,
    random,
    retry: false,
    timeout: { total: parts.addTimeout },
    breaker: {
      windowType: 'consecutive',
      failureThreshold: 1,
      timeoutDuration: 500,
      timeoutMultiplier: 2,
      maxTimeoutDuration: 10_000,
      // The lease of a probe is longer than its timeout, so that its outcome always counts.
      probeLease: 2 * parts.addTimeout,
      failureOn: [isOutage],
    },
  })

  // Entries were moved, so the database accepts writes again.
  diskFallback.onMoved(() => adding.breaker?.reset())

  /** Runs a query for an id and, if it finds no entry, for the id of which this one is an alias. */
  async function withAlias<T>(
    id: string,
    query: (id: string) => Promise<T>,
    isMissing: (result: T) => boolean,
  ) {
    const result = await query(id)
    if (!isMissing(result)) return result
    const other = (await aliases.find([id])).get(id)
    return other === undefined ? result : query(other)
  }
  const isUndefined = (result: unknown) => result === undefined

  /**
   * The same for a query that changes an entry: an entry in the disk fallback is moved to the database first.
   *
   * @throws STORE_UNAVAILABLE if it cannot be moved
   */
  async function withMove<T>(
    id: string,
    query: (id: string) => Promise<T>,
    isMissing: (result: T) => boolean,
  ): Promise<T> {
    const result = await withAlias(id, query, isMissing)
    if (!isMissing(result) || (await diskFallback.get(id)) === undefined) return result
    await diskFallback.retry(id)
    const second = await withAlias(id, query, isMissing)
    if (isMissing(second) && (await diskFallback.get(id)) !== undefined)
      throw diskFallback.createNotMovedError(id)
    return second
  }

  /** Writes entries that the database cannot store to the disk fallback, so that they are not lost. */
  async function keepRejected(
    entries: readonly DeadLetter[],
    inserted: readonly Inserted[],
    limits: { maxEntries: number },
  ): Promise<Added[]> {
    const rejected = entries.filter((_, i) => inserted[i]?.result === 'rejected')
    const kept = rejected.length === 0 ? [] : await diskFallback.add(rejected, limits)
    return inserted.map((each) => (each.result === 'rejected' ? (kept.shift() as Added) : each))
  }

  async function find(id: string, now: Date): Promise<DeadLetter | undefined> {
    const found = (await queue.get(id, now)) ?? (await diskFallback.get(id))
    // It may have been moved between the two queries.
    return found ?? withAlias(id, (each) => queue.get(each, now), isUndefined)
  }

  return {
    leaseBatch: LEASE_BATCH_SIZE,
    async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
      let inserted: Inserted[]
      try {
        inserted = await adding.run(() => queue.add(entries, limits))
      } catch (error) {
        if (!isOutage(error)) throw error
        if (isHoldfastError(error, 'TOTAL_TIMEOUT')) void database.check()
        return diskFallback.add(entries, limits)
      }
      diskFallback.retryNow()
      return keepRejected(entries, inserted, limits)
    },
    async get(id, now) {
      try {
        return await find(id, now)
      } catch (error) {
        const kept = isOutage(error) ? await diskFallback.get(id) : undefined
        if (kept === undefined) throw error
        return kept
      }
    },
    list: (filter, now) => queue.list(filter, now),
    count: (selector, now) => queue.count(selector, now),
    lease: (id, owner, until, now) =>
      withMove(
        id,
        (each) => queue.lease(each, owner, until, now),
        ({ result }) => result === 'missing',
      ),
    leaseNext: (want, owner, until, now) => queue.leaseNext(want, owner, until, now),
    renew: (id, owner, until, now) => queue.renew(id, owner, until, now),
    settle: (id, owner, settlement) => queue.settle(id, owner, settlement),
    complete: (id, at) => withMove(id, (each) => queue.complete(each, at), isUndefined),
    request: (id, at) => withMove(id, (each) => queue.request(each, at), isUndefined),
    edit: (id, editedPayload, now) =>
      withMove(
        id,
        (each) => queue.edit(each, editedPayload, now),
        ({ result }) => result === 'missing',
      ),
    isProcessed: (id) =>
      withAlias(
        id,
        (each) => queue.isProcessed(each),
        (isProcessed) => !isProcessed,
      ),
    async deleteProcessedIds(before) {
      const deleted = await queue.deleteProcessedIds(before)
      await aliases.deleteUnused()
      return deleted
    },
    async purge(filter, now) {
      const { ids } = filter
      if (ids === undefined) return queue.purge(filter, now)
      const others = await aliases.find(ids)
      const purged = await queue.purge({ ...filter, ids: ids.map((id) => others.get(id) ?? id) }, now)
      return purged + (await diskFallback.purge(filter))
    },
    stats: (now) => queue.stats(now),
    rewrite: (id, read, written) => queue.rewrite(id, read, written),
    compareWith: (same) => diskFallback.compareWith(same),
    onRequest: (listener) => notifications.subscribe(listener),
  }
}
