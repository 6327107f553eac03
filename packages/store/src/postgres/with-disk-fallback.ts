import type { DeadLetter } from '@holdfast/records'
import { type Clock, guard, isHoldfastError, type Random } from 'holdfast'
import { systemClock, systemRandom } from 'holdfast/internal'
import type { Added, DeadLetterStore } from '../store.js'
import type { DeadLetterAliases } from './aliases.js'
import type { PostgresDatabase } from './database.js'
import type { Inserted } from './dead-letter-inserts.js'
import type { PostgresDeadLetters } from './dead-letters.js'
import type { DiskFallback } from './disk-fallback.js'
import { isDataError } from './failure.js'
import type { ReplayNotifications } from './replay-notifications.js'

/** A queue that also tells when somebody asked for a replay, so that a worker need not wait for its next look. */
export interface NotifyingDeadLetters extends DeadLetterStore {
  onRequest(listener: () => void): () => void
}

/** How many leases are taken, or ended, in one transaction by a process that gets through them fast. */
const LEASE_BATCH_SIZE = 100

interface DiskFallbackParts {
  database: PostgresDatabase
  queue: PostgresDeadLetters
  aliases: DeadLetterAliases
  diskFallback: DiskFallback
  notifications: ReplayNotifications
  /** How long an entry waits for the database before it is kept in the spill, in milliseconds. */
  addTimeout: number
  clock?: Clock | undefined
  random?: Random | undefined
}

/**
 * The queue in the database, with what is added while the database cannot be had kept in the spill, and with every id known
 * that was acknowledged meanwhile.
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

  // Whoever adds has a failed call in hand, and there is another place to put it: one of them finds that the database does
  // not answer, and the others go there at once. What was given up on may still be added; it has the same id then.
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
      // A test counts however long it may take.
      probeLease: 2 * parts.addTimeout,
      failureOn: [isOutage],
    },
  })

  // Nobody else need go there any more.
  diskFallback.onMoved(() => adding.breaker?.reset())

  /** Asks for an entry, and where there is none, for the one that its id is an alias of. */
  async function either<T>(id: string, ask: (id: string) => Promise<T>, missed: (answer: T) => boolean) {
    const answer = await ask(id)
    if (!missed(answer)) return answer
    const other = (await aliases.find([id])).get(id)
    return other === undefined ? answer : ask(other)
  }
  const isNothing = (answer: unknown) => answer === undefined

  /**
   * The same for what changes an entry in the database: one that is still in the spill is moved first.
   *
   * @throws STORE_UNAVAILABLE where it cannot be moved
   */
  async function movedFirst<T>(
    id: string,
    ask: (id: string) => Promise<T>,
    missed: (answer: T) => boolean,
  ): Promise<T> {
    const answer = await either(id, ask, missed)
    if (!missed(answer) || (await diskFallback.get(id)) === undefined) return answer
    await diskFallback.retry(id)
    const again = await either(id, ask, missed)
    if (missed(again) && (await diskFallback.get(id)) !== undefined)
      throw diskFallback.createNotMovedError(id)
    return again
  }

  /** Keeps those entries in the spill that the database cannot hold, rather than lose them. */
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
    // It may have been moved between the two looks.
    return found ?? either(id, (each) => queue.get(each, now), isNothing)
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
    lease: (id, owner, until, now) =>
      movedFirst(
        id,
        (each) => queue.lease(each, owner, until, now),
        ({ result }) => result === 'missing',
      ),
    leaseNext: (want, owner, until, now) => queue.leaseNext(want, owner, until, now),
    renew: (id, owner, until, now) => queue.renew(id, owner, until, now),
    settle: (id, owner, settlement) => queue.settle(id, owner, settlement),
    complete: (id, at) => movedFirst(id, (each) => queue.complete(each, at), isNothing),
    request: (id, at) => movedFirst(id, (each) => queue.request(each, at), isNothing),
    isProcessed: (id) =>
      either(
        id,
        (each) => queue.isProcessed(each),
        (done) => !done,
      ),
    async purge(filter, now) {
      const { ids } = filter
      if (ids === undefined) return queue.purge(filter, now)
      const others = await aliases.find(ids)
      const purged = await queue.purge({ ...filter, ids: ids.map((id) => others.get(id) ?? id) }, now)
      return purged + (await diskFallback.purge(filter))
    },
    stats: (now) => queue.stats(now),
    rewrite: (id, payload) => queue.rewrite(id, payload),
    compareWith: (same) => diskFallback.compareWith(same),
    onRequest: (listener) => notifications.subscribe(listener),
  }
}
