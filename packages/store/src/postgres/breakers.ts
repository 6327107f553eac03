import { decodeBreaker, encodeBreaker } from '../breaker-codec.js'
import { compareText } from '../ordering.js'
import { readableRows } from '../readable-rows.js'
import type { BreakerStore, StoredBreaker } from '../store.js'
import { fromColumn, hashName, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { breakerStatements } from './statements/breakers.js'

/** Snapshots of breakers. */
export class PostgresBreakers implements BreakerStore {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof breakerStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = breakerStatements(database.table)
  }

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    // The last snapshot of an id counts. Rows are sorted, so that two transactions do not deadlock.
    const rows = [...new Map(snapshots.map((each) => [hashName(each.snapshot.id), each]))].sort(([a], [b]) =>
      compareText(a, b),
    )
    if (rows.length === 0) return
    await this.database.write((sql) =>
      sql.run(
        this.statements.upsert,
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
      sql.all<{ id: string; body: string }>(this.statements.selectAll),
    )
    return readableRows(
      rows,
      ({ body }) => decodeBreaker(JSON.parse(body)),
      ({ id }) => this.database.unreadableRows.report('circuit_breaker_states', fromColumn(id)),
    )
  }

  async delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.database.write((sql) => sql.run(this.statements.delete, ids.map(hashName)))
  }
}
