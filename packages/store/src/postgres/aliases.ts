import { readableRows } from '../readable-rows.js'
import { hashName, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { valueStatements } from './statements/values.js'

const aliasKey = (id: string): string => `dead_letter_alias:${id}`

/** Aliases of dead letters: ids that the disk fallback acknowledged for entries that the database had under another id. */
export class DeadLetterAliases {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof valueStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = valueStatements(database.table)
  }

  /** Stores ids by alias. */
  async save(ids: ReadonlyMap<string, string>): Promise<void> {
    const names = [...ids.keys()].map(aliasKey)
    await this.database.write((sql) =>
      sql.run(
        this.statements.upsertMany,
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
      (sql) => sql.all<{ id: string; value: string }>(this.statements.selectMany, [...byHash.keys()]),
      { attempts },
    )
    return new Map(
      readableRows(
        rows,
        ({ id, value }) => {
          const original: unknown = JSON.parse(value)
          return typeof original === 'string' ? ([byHash.get(id) as string, original] as const) : undefined
        },
        ({ id }) => this.database.unreadableRows.report('named_values', aliasKey(byHash.get(id) as string)),
      ),
    )
  }
}
