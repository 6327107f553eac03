import { parseOrUndefined, readableRows } from '../readable-rows.js'
import { fromColumn, hashName, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { deadLetterStatements } from './statements/dead-letters.js'
import { valueStatements } from './statements/values.js'

const ALIAS_PREFIX = 'dead_letter_alias:'

const aliasKey = (id: string): string => `${ALIAS_PREFIX}${id}`

/** How many aliases one transaction checks and deletes. */
const BATCH_SIZE = 1000

/** A damaged alias refers to no entry. */
const parseId = (value: string): string | undefined => {
  const id = parseOrUndefined(value, (text): unknown => JSON.parse(text))
  return typeof id === 'string' ? id : undefined
}

/** Aliases of dead letters: ids that the disk fallback acknowledged for entries that the database had under another id. */
export class DeadLetterAliases {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof valueStatements>
  private readonly entryStatements: ReturnType<typeof deadLetterStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = valueStatements(database.table)
    this.entryStatements = deadLetterStatements(database.table)
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

  /**
   * Deletes the aliases of entries that were deleted, if their processed ids were deleted too. Nothing can refer to them any more. An
   * alias is never stored again, because the disk fallback acknowledges an id once.
   */
  async deleteUnused(): Promise<number> {
    const rows = await this.database.read((sql) =>
      sql.all<{ key: string; value: string }>(this.statements.selectByPrefix, ALIAS_PREFIX),
    )
    let deleted = 0
    for (let at = 0; at < rows.length; at += BATCH_SIZE)
      deleted += await this.deleteUnusedOf(rows.slice(at, at + BATCH_SIZE))
    return deleted
  }

  private deleteUnusedOf(rows: readonly { key: string; value: string }[]): Promise<number> {
    const { selectStored, selectProcessed } = this.entryStatements
    const targets = rows.map(({ value }) => hashName(parseId(value) ?? ''))
    return this.database.write(async (sql) => {
      const stored = await sql.all<{ id: string }>(selectStored, targets)
      const processed = await sql.all<{ id: string }>(selectProcessed, targets)
      const used = new Set([...stored, ...processed].map(({ id }) => id))
      const unused = rows.filter((_, at) => !used.has(targets[at] as string))
      return sql.run(
        this.statements.deleteMany,
        unused.map(({ key }) => hashName(fromColumn(key))),
      )
    })
  }
}
