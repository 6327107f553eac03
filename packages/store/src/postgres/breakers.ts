import { decodeBreaker, encodeBreaker } from '../breaker-codec.js'
import { compareText } from '../ordering.js'
import type { BreakerStore, StoredBreaker } from '../store.js'
import { toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { hashName } from './names.js'

/** Snapshots of breakers. */
export class PostgresBreakers implements BreakerStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('circuit_breaker_states')
  }

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    // The last snapshot of an id counts. Rows are sorted, so that two transactions do not deadlock.
    const rows = [...new Map(snapshots.map((each) => [hashName(each.snapshot.id), each]))].sort(([a], [b]) =>
      compareText(a, b),
    )
    if (rows.length === 0) return
    await this.database.write((sql) =>
      sql.run(
        `INSERT INTO ${this.table} (key, id, state, updated_at, body)
          SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[])
          ON CONFLICT (key) DO UPDATE SET (state, updated_at, body) = (excluded.state, excluded.updated_at, excluded.body)`,
        rows.map(([key]) => key),
        rows.map(([, { snapshot }]) => toColumn(snapshot.id)),
        rows.map(([, { snapshot }]) => snapshot.state),
        rows.map(([, { updatedAt }]) => updatedAt.getTime()),
        rows.map(([, each]) => JSON.stringify(encodeBreaker(each))),
      ),
    )
  }

  async load(): Promise<StoredBreaker[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ body: string }>(`SELECT body FROM ${this.table} ORDER BY key`),
    )
    return rows.flatMap(({ body }) => decodeBreaker(JSON.parse(body)) ?? [])
  }

  async delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.database.write((sql) =>
      sql.run(`DELETE FROM ${this.table} WHERE key = ANY($1::uuid[])`, ids.map(hashName)),
    )
  }
}
