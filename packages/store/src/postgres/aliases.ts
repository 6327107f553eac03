import { toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { hashName } from './names.js'

const aliasKey = (id: string): string => `dead_letter_alias:${id}`

/** Other ids of dead letters: what was acknowledged under an id while the database held it under another already. */
export class DeadLetterAliases {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('named_values')
  }

  /** Notes them, by alias. */
  async save(ids: ReadonlyMap<string, string>): Promise<void> {
    const names = [...ids.keys()].map(aliasKey)
    await this.database.write((sql) =>
      sql.run(
        `INSERT INTO ${this.table} (id, key, value) SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[])
          ON CONFLICT (id) DO UPDATE SET value = excluded.value`,
        names.map(hashName),
        names.map(toColumn),
        [...ids.values()].map((id) => JSON.stringify(id)),
      ),
    )
  }

  /** Those of the ids that are aliases, with what they stand for. */
  async find(ids: readonly string[], attempts?: number): Promise<ReadonlyMap<string, string>> {
    const byHash = new Map(ids.map((id) => [hashName(aliasKey(id)), id]))
    const rows = await this.database.read(
      (sql) =>
        sql.all<{ id: string; value: string }>(
          `SELECT replace(id::text, '-', '') AS id, value FROM ${this.table} WHERE id = ANY($1::uuid[])`,
          [...byHash.keys()],
        ),
      { attempts },
    )
    return new Map(rows.map(({ id, value }) => [byHash.get(id) as string, JSON.parse(value) as string]))
  }
}
