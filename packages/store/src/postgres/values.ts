import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import { readableRows } from '../readable-rows.js'
import type { ValueStore } from '../store.js'
import { fromColumn, hashName, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { valueStatements } from './statements/values.js'

/** Small named values. */
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
    return row && JSON.parse(row.value)
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
    return readableRows(rows, ({ key, value }) => ({
      key: fromColumn(key),
      value: JSON.parse(value) as unknown,
    })).sort((a, b) => compareText(a.key, b.key))
  }
}
