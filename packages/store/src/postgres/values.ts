import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import type { ValueStore } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { hashName } from './names.js'

/** Small named values. */
export class PostgresValues implements ValueStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('named_values')
  }

  async get(key: string): Promise<unknown> {
    const [row] = await this.database.read((sql) =>
      sql.all<{ value: string }>(`SELECT value FROM ${this.table} WHERE id = $1`, hashName(key)),
    )
    return row && JSON.parse(row.value)
  }

  async set(key: string, value: unknown): Promise<void> {
    const text = serializeValue(key, value)
    await this.database.write((sql) =>
      sql.run(
        `INSERT INTO ${this.table} (id, key, value) VALUES ($1, $2, $3)
          ON CONFLICT (id) DO UPDATE SET value = excluded.value`,
        hashName(key),
        toColumn(key),
        text,
      ),
    )
  }

  async delete(key: string): Promise<void> {
    await this.database.write((sql) => sql.run(`DELETE FROM ${this.table} WHERE id = $1`, hashName(key)))
  }

  async list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ key: string; value: string }>(
        `SELECT key, value FROM ${this.table} WHERE starts_with(key, $1)`,
        toColumn(prefix),
      ),
    )
    return rows
      .map(({ key, value }) => ({ key: fromColumn(key), value: JSON.parse(value) as unknown }))
      .sort((a, b) => compareText(a.key, b.key))
  }
}
