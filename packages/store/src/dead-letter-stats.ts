import type { DeadLetterStatus } from '@holdfast/records'
import type { DeadLetterStats } from './dead-letter-store.js'
import { fromColumn } from './text.js'

/** A number of entries. Several rows for one operation and status are added up. */
export interface StatusCount {
  operation: string
  status: DeadLetterStatus
  n: number | string
}

/** No entries in any status. */
export const zeroCounts = (): Record<DeadLetterStatus, number> => ({
  pending: 0,
  replaying: 0,
  completed: 0,
  failed: 0,
})

/** The statistics of a database, from its counts and the time of its oldest entry that is not completed. */
export function toStats(rows: readonly StatusCount[], oldest: number | null | undefined): DeadLetterStats {
  const byOperation = new Map<string, Record<DeadLetterStatus, number>>()
  const byStatus = zeroCounts()
  for (const { operation, status, n } of rows) {
    const counts = byOperation.get(operation) ?? zeroCounts()
    byOperation.set(operation, counts)
    counts[status] += Number(n)
    byStatus[status] += Number(n)
  }
  return {
    total: Object.values(byStatus).reduce((sum, n) => sum + n, 0),
    byStatus,
    byOperation: Object.fromEntries(
      [...byOperation].map(([operation, counts]) => [fromColumn(operation), counts]),
    ),
    ...(oldest == null ? {} : { oldest: new Date(oldest) }),
  }
}
