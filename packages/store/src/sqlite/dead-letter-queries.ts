import { DEAD_LETTER_STATUSES, type DeadLetterStatus } from '@holdfast/records'
import type { RowSelection } from '../dead-letter-selection.js'
import { type StatusCount, toStats, zeroCounts } from '../dead-letter-stats.js'
import type { DeadLetterStats } from '../dead-letter-store.js'
import type { SqliteConnection } from './connection.js'
import {
  COUNT_EXPIRED,
  countStatements,
  type RowPosition,
  SELECT_COUNTS,
  SELECT_OLDEST_OPEN,
  selectPositionsStatements,
} from './statements/dead-letters.js'

/**
 * Finds the positions of matching entries in order, after a position if one is given, at most `limit`. Each index scan returns
 * up to `limit` positions, of which the first ones are the result.
 */
export function selectPositions(
  sql: SqliteConnection,
  selection: RowSelection,
  now: number,
  page: { isNewestFirst: boolean; after?: RowPosition | undefined; limit: number },
): RowPosition[] {
  const sign = page.isNewestFirst ? -1 : 1
  return selectPositionsStatements(selection, now, page)
    .flatMap(({ text, values }) => sql.all<RowPosition>(text, ...values))
    .sort((a, b) => sign * (a.created_at - b.created_at || a.seq - b.seq))
    .slice(0, page.limit)
}

/** Counts the matching entries with each status. */
export function countEntries(
  sql: SqliteConnection,
  selection: RowSelection,
  now: number,
): Record<DeadLetterStatus, number> {
  const counts = zeroCounts()
  for (const status of new Set(selection.statuses ?? DEAD_LETTER_STATUSES))
    for (const { text, values } of countStatements({ ...selection, statuses: [status] }, now))
      counts[status] += sql.get<{ n: number }>(text, ...values)?.n ?? 0
  return counts
}

/** Reads the number of entries by operation and status. */
export function readStats(sql: SqliteConnection, now: number): DeadLetterStats {
  const counts = sql.all<StatusCount>(SELECT_COUNTS)
  // Entries with an expired lease are counted as replaying, although they are pending.
  const expired = sql.all<{ operation: string; n: number }>(COUNT_EXPIRED, now)
  const corrections = expired.flatMap(({ operation, n }): StatusCount[] => [
    { operation, status: 'replaying', n: -n },
    { operation, status: 'pending', n },
  ])
  const oldest = sql.get<{ at: number | null }>(SELECT_OLDEST_OPEN)?.at
  return toStats([...counts, ...corrections], oldest)
}
