import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterStats } from '../store.js'
import { fromColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'

const zeroCounts = (): Record<DeadLetterStatus, number> => ({
  pending: 0,
  replaying: 0,
  completed: 0,
  failed: 0,
})

/** Reads the number of entries by operation and status. */
export function readStats(sql: SqliteConnection, now: number): DeadLetterStats {
  const rows = sql.all<{ operation: string; status: DeadLetterStatus; n: number }>(
    'SELECT operation_type AS operation, status, entries AS n FROM dead_letter_counts WHERE entries > 0',
  )
  // Entries with an expired lease are counted as replaying, although they are pending.
  const expired = sql.all<{ operation: string; n: number }>(
    `SELECT operation_type AS operation, count(*) AS n FROM dead_letters INDEXED BY dead_letters_by_status
      WHERE status = 'replaying' AND leased_until <= ? GROUP BY operation_type`,
    now,
  )
  const expiredLeases = expired.flatMap(({ operation, n }) => [
    { operation, status: 'replaying' as const, n: -n },
    { operation, status: 'pending' as const, n },
  ])
  const byOperation = new Map<string, Record<DeadLetterStatus, number>>()
  const byStatus = zeroCounts()
  for (const { operation, status, n } of [...rows, ...expiredLeases]) {
    const counts = byOperation.get(operation) ?? zeroCounts()
    byOperation.set(operation, counts)
    counts[status] += n
    byStatus[status] += n
  }
  const oldest = sql.get<{ at: number | null }>(
    `SELECT min(at) AS at FROM (${['pending', 'replaying', 'failed']
      .map((status) => `SELECT min(created_at) AS at FROM dead_letters WHERE status = '${status}'`)
      .join(' UNION ALL ')})`,
  )?.at
  return {
    total: Object.values(byStatus).reduce((sum, n) => sum + n, 0),
    byStatus,
    byOperation: Object.fromEntries(
      [...byOperation].map(([operation, counts]) => [fromColumn(operation), counts]),
    ),
    ...(oldest == null ? {} : { oldest: new Date(oldest) }),
  }
}
