import { toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { hashName } from './names.js'

const aliasKey = (id: string): string => `dead_letter_alias:${id}`

/** Aliases of dead letters: ids that the disk fallback acknowledged for entries that the database had under another id. */
export class DeadLetterAliases {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('named_values')
  }

  /** Stores ids by alias. */
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

  /** Finds the aliases among the ids, with the id of each entry. */
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
