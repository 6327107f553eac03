import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import { parseOrUndefined, readableRows } from '../readable-rows.js'
import type { ValueStore } from '../store.js'
import { fromColumn, hashName, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { valueStatements } from './statements/values.js'

const parseRow = ({ value }: { readonly value: string }) => ({ value: JSON.parse(value) as unknown })

/** Small named values. A damaged one does not exist. */
export class PostgresValues implements ValueStore {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof valueStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = valueStatements(database.table)
  }

  async get(key: string): Promise<unknown> {
    const [row] = await this.database.read((sql) =>
      sql.all<{ value: string }>(this.statements.select, hashName(key)),
    )
    const parsed = row && parseOrUndefined(row, parseRow)
    if (row !== undefined && parsed === undefined) this.skipRow({ key: toColumn(key) })
    return parsed?.value
  }

  private skipRow({ key }: { readonly key: string }): void {
    this.database.unreadableRows.report('named_values', fromColumn(key))
  }

  async set(key: string, value: unknown): Promise<void> {
    const text = serializeValue(key, value)
    await this.database.write((sql) => sql.run(this.statements.upsert, hashName(key), toColumn(key), text))
  }

  async delete(key: string): Promise<void> {
    await this.database.write((sql) => sql.run(this.statements.delete, hashName(key)))
  }

  async list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ key: string; value: string }>(this.statements.selectByPrefix, toColumn(prefix)),
    )
    return readableRows(
      rows,
      (row) => ({ key: fromColumn(row.key), ...parseRow(row) }),
      (row) => this.skipRow(row),
    ).sort((a, b) => compareText(a.key, b.key))
  }
}
