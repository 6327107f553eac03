import { toColumn } from '../text.js'
import type { Database } from './database.js'
import { hashed } from './names.js'

const nameOf = (id: string): string => `dead_letter_alias:${id}`

/** Other ids of dead letters: what was acknowledged under an id while the database held it under another already. */
export class Aliases {
  private readonly database: Database
  private readonly table: string

  constructor(database: Database) {
    this.database = database
    this.table = database.table('named_values')
  }

  /** Notes them, by alias. */
  async note(ids: ReadonlyMap<string, string>): Promise<void> {
    const names = [...ids.keys()].map(nameOf)
    await this.database.write((sql) =>
      sql.run(
        `INSERT INTO ${this.table} (id, key, value) SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[])
          ON CONFLICT (id) DO UPDATE SET value = excluded.value`,
        names.map(hashed),
        names.map(toColumn),
        [...ids.values()].map((id) => JSON.stringify(id)),
      ),
    )
  }

  /** Those of the ids that are aliases, with what they stand for. */
  async of(ids: readonly string[], attempts?: number): Promise<ReadonlyMap<string, string>> {
    const byHash = new Map(ids.map((id) => [hashed(nameOf(id)), id]))
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
