import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterStats } from '../store.js'
import { fromColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import type { SqlTransaction } from './sql.js'

const zeroCounts = (): Record<DeadLetterStatus, number> => ({
  pending: 0,
  replaying: 0,
  completed: 0,
  failed: 0,
})

interface StatusCount {
  operation: string
  status: DeadLetterStatus
  n: string
}

/** Reads the number of entries by operation and status. */
export async function readStats(
  database: PostgresDatabase,
  sql: SqlTransaction,
  now: number,
): Promise<DeadLetterStats> {
  const table = database.table('dead_letters')
  // Entries with an expired lease are counted as replaying, although they are pending.
  const rows = await sql.all<StatusCount>(
    `SELECT operation_type AS operation, status, sum(entries) AS n FROM ${database.table('dead_letter_counts')}
        GROUP BY operation, operation_type, status HAVING sum(entries) <> 0
      UNION ALL
      SELECT operation_type, kind, count(*) * sign FROM ${table}, (VALUES ('replaying', -1), ('pending', 1)) AS moved (kind, sign)
        WHERE status = 'replaying' AND leased_until <= $1 GROUP BY operation_type, kind, sign`,
    now,
  )
  const byOperation = new Map<string, Record<DeadLetterStatus, number>>()
  const byStatus = zeroCounts()
  for (const { operation, status, n } of rows) {
    const counts = byOperation.get(operation) ?? zeroCounts()
    byOperation.set(operation, counts)
    counts[status] += Number(n)
    byStatus[status] += Number(n)
  }
  const [oldest] = await sql.all<{ at: string }>(
    `SELECT created_at AS at FROM ${table} WHERE status <> 'completed' ORDER BY created_at, seq LIMIT 1`,
  )
  return {
    total: Object.values(byStatus).reduce((sum, n) => sum + n, 0),
    byStatus,
    byOperation: Object.fromEntries(
      [...byOperation].map(([operation, counts]) => [fromColumn(operation), counts]),
    ),
    ...(oldest === undefined ? {} : { oldest: new Date(Number(oldest.at)) }),
  }
}
