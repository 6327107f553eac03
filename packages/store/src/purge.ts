import { type DeadLetterIndex, type IndexEntry, toQuery } from './dead-letter-index.js'
import { isLeased } from './dead-letter-rules.js'
import type { DeadLetterStore } from './dead-letter-store.js'
import type { SortPosition } from './sorted-list.js'

/** How many entries a purge visits before other work gets a turn: about 3 ms. */
const PURGE_BATCH_SIZE = 500

/**
 * Purges matching entries in batches and returns how many. `deleteBatch` calls `find` and deletes all entries that it returns, in
 * one turn or one transaction; other calls run between two batches. Each entry is visited once, in the state that it has then:
 * one that was leased meanwhile stays. Entries that were added after the first batch stay, too, because the caller of the purge
 * cannot know them. Entries with given ids are one batch.
 */
export async function purgeInBatches<S extends IndexEntry>(
  filter: Parameters<DeadLetterStore['purge']>[0],
  now: Date,
  deleteBatch: (find: (index: DeadLetterIndex<S>) => readonly S[]) => Promise<void>,
): Promise<number> {
  const { ids, limit = Number.POSITIVE_INFINITY, order } = filter
  const batchSize = ids === undefined ? PURGE_BATCH_SIZE : Number.POSITIVE_INFINITY
  let purged = 0
  let lastOrder: number | undefined
  let after: SortPosition | undefined
  let isDone = false
  const find = (index: DeadLetterIndex<S>): readonly S[] => {
    lastOrder ??= index.lastOrder
    const found: S[] = []
    let visited = 0
    isDone = true
    for (const indexed of index.select(toQuery(filter), now.getTime(), order === 'newest', after)) {
      if (purged + found.length >= limit) break
      if (visited === batchSize) {
        isDone = false
        break
      }
      visited++
      after = [indexed.at, indexed.order]
      if (indexed.order <= lastOrder && !isLeased(indexed, now.getTime())) found.push(indexed)
    }
    purged += found.length
    return found
  }
  while (!isDone) await deleteBatch(find)
  return purged
}
