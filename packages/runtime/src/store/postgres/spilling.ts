import { isHoldfastError } from 'holdfast'
import type { DeadLetter } from '../../records/dead-letter.js'
import type { Added, DeadLetterStore } from '../store.js'
import type { Database } from './database.js'
import type { PostgresDeadLetters } from './dead-letters.js'
import { isAboutData } from './failure.js'
import type { Spill } from './spill.js'
import type { Wakeups } from './wakeups.js'

/** A queue that also tells when somebody asked for a replay, so that a worker need not wait for its next look. */
export interface WakingDeadLetters extends DeadLetterStore {
  onRequest(listener: () => void): () => void
}

/** The queue in the database, with what is added while the database cannot be had kept in the spill. */
export function spilling(
  database: Database,
  queue: PostgresDeadLetters,
  spill: Spill,
  wakeups: Wakeups,
): WakingDeadLetters {
  const isOutage = (error: unknown): boolean =>
    database.isOpen &&
    isHoldfastError(error, 'STORE_UNAVAILABLE') &&
    !isAboutData((error as { cause?: unknown }).cause)

  return {
    async add(entries: readonly DeadLetter[], limits: { maxEntries: number }): Promise<Added[]> {
      try {
        const added = await queue.add(entries, limits)
        spill.nudge()
        return added
      } catch (error) {
        if (!isOutage(error)) throw error
        return spill.keep(entries, limits)
      }
    },
    async get(id, now) {
      try {
        return (await queue.get(id, now)) ?? (await spill.get(id))
      } catch (error) {
        const kept = isOutage(error) ? await spill.get(id) : undefined
        if (kept === undefined) throw error
        return kept
      }
    },
    list: (filter, now) => queue.list(filter, now),
    lease: (id, owner, until, now) => queue.lease(id, owner, until, now),
    leaseNext: (want, owner, until, now) => queue.leaseNext(want, owner, until, now),
    renew: (id, owner, until, now) => queue.renew(id, owner, until, now),
    settle: (id, owner, settlement) => queue.settle(id, owner, settlement),
    complete: (id, at) => queue.complete(id, at),
    request: (id, at) => queue.request(id, at),
    isProcessed: (id) => queue.isProcessed(id),
    purge: (filter, now) => queue.purge(filter, now),
    stats: (now) => queue.stats(now),
    rewrite: (id, payload) => queue.rewrite(id, payload),
    onRequest: (listener) => wakeups.on(listener),
  }
}
