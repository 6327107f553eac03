import type { PostgresDatabase } from './database.js'

/** How many rows the count of an operation and status is split into. */
const COUNT_SHARDS = 8

/**
 * The part of a statement that updates the counts: `changes` selects rows of operation, operation_type, status and n. Rows are
 * always updated in the same order, so that two transactions do not deadlock.
 */
export const countUpdate = (database: PostgresDatabase, changes: string): string => `
  INSERT INTO ${database.table('dead_letter_counts')} AS counts (operation, status, shard, operation_type, entries)
    SELECT operation, status, pg_backend_pid() % ${COUNT_SHARDS}, min(operation_type), sum(n)
      FROM (${changes}) AS changes GROUP BY operation, status HAVING sum(n) <> 0 ORDER BY operation, status
    ON CONFLICT (operation, status, shard) DO UPDATE SET entries = counts.entries + excluded.entries`
