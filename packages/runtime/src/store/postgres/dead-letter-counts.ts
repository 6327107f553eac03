import { toColumn } from '../sqlite/text.js'
import type { Database, Sql } from './database.js'
import { hashed } from './names.js'

/** How many rows the count of an operation and a status is spread over. */
const SHARDS = 8

/**
 * The end of a statement that adds to the counts: `changes` gives rows of operation, operation_type, status and n. Always in
 * one order, so that two who count do not wait for each other in a circle.
 */
export const counting = (database: Database, changes: string): string => `
  INSERT INTO ${database.table('dead_letter_counts')} AS counts (operation, status, shard, operation_type, entries)
    SELECT operation, status, pg_backend_pid() % ${SHARDS}, min(operation_type), sum(n)
      FROM (${changes}) AS changes GROUP BY operation, status HAVING sum(n) <> 0 ORDER BY operation, status
    ON CONFLICT (operation, status, shard) DO UPDATE SET entries = counts.entries + excluded.entries`

/** How many entries of an operation came to a status, or left it. */
export class Tally {
  private readonly changes = new Map<string, { operation: string; status: string; n: number }>()

  add(operation: string, status: string, n: number): void {
    const key = JSON.stringify([operation, status])
    const held = this.changes.get(key) ?? { operation, status, n: 0 }
    held.n += n
    this.changes.set(key, held)
  }

  async write(database: Database, sql: Sql): Promise<void> {
    const changes = [...this.changes.values()].filter(({ n }) => n !== 0)
    if (changes.length === 0) return
    await sql.run(
      counting(
        database,
        `SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
          AS given (operation, operation_type, status, n)`,
      ),
      changes.map(({ operation }) => hashed(operation)),
      changes.map(({ operation }) => toColumn(operation)),
      changes.map(({ status }) => status),
      changes.map(({ n }) => n),
    )
  }
}
