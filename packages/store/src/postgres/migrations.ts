import { HoldfastError } from 'holdfast'
import type { PostgresDatabase } from './database.js'
import { LOCKS } from './locks.js'
import type { SqlTransaction } from './sql.js'
import {
  createSchema,
  MIGRATIONS,
  migrationStatements,
  SELECT_SCHEMA,
  SELECT_TABLE,
} from './statements/schema.js'

interface SchemaVersion {
  version: number
  oldest: number
}

/** Runs the missing migrations under a lock. A second process finds them done. */
export async function migrate(database: PostgresDatabase): Promise<void> {
  if (await database.read((sql) => isCurrent(database, sql))) return
  await database.write(
    async (sql) => {
      const { schema } = database.address
      const statements = migrationStatements(database.table)
      if ((await sql.all(SELECT_SCHEMA, schema)).length === 0) await sql.run(createSchema(schema))
      await sql.run(statements.createTable)
      if (await isCurrent(database, sql)) return
      const from = (await readVersion(database, sql))?.version ?? 0
      for (const [i, { sql: text, oldest }] of MIGRATIONS.entries()) {
        if (i < from) continue
        for (const statement of splitStatements(text(schema))) await sql.run(statement)
        await sql.run(statements.insert, i + 1, oldest)
      }
    },
    { lock: database.lockStatement(LOCKS.migrations) },
  )
}

/** Statements run one at a time, because a query with parameters, even an empty list, can have only one. */
const splitStatements = (text: string): string[] =>
  text
    .replace(/--.*$/gm, '')
    .split(';')
    .filter((part) => part.trim() !== '')

async function readVersion(
  database: PostgresDatabase,
  sql: SqlTransaction,
): Promise<SchemaVersion | undefined> {
  const existing = await sql.all(SELECT_TABLE, database.address.schema, 'migrations')
  if (existing.length === 0) return undefined
  const [row] = await sql.all<SchemaVersion>(migrationStatements(database.table).selectLatest)
  return row
}

async function isCurrent(database: PostgresDatabase, sql: SqlTransaction): Promise<boolean> {
  const row = await readVersion(database, sql)
  if (row === undefined || row.version < MIGRATIONS.length) return false
  if (row.oldest > MIGRATIONS.length)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the PostgreSQL store ${database.address.displayName} was changed by a later release (its schema version is ${row.version}, ` +
        `for releases that support ${row.oldest} or later; this release supports ${MIGRATIONS.length}); use a later release`,
      { status: 503 },
    )
  return true
}
