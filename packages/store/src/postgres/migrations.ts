import { HoldfastError } from 'holdfast'
import type { PostgresDatabase } from './database.js'
import { LOCKS } from './locks.js'
import { migration1 } from './schema.js'
import type { SqlTransaction } from './sql.js'

/** A migration of the schema from one version to the next. */
interface SchemaMigration {
  sql(schema: string): string
  /**
   * The oldest schema version that a release must support to use the result. A migration that only adds (a table, an index, a
   * nullable column) keeps the previous value, so that old and new releases run side by side.
   */
  oldest: number
}

/** The list is append-only, because a schema can have any version. */
const MIGRATIONS: readonly SchemaMigration[] = [{ sql: migration1, oldest: 1 }]

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
      if ((await sql.all('SELECT 1 FROM pg_namespace WHERE nspname = $1', schema)).length === 0)
        await sql.run(`CREATE SCHEMA "${schema}"`)
      await sql.run(
        `CREATE TABLE IF NOT EXISTS ${database.table('migrations')}
          (version integer PRIMARY KEY, oldest integer NOT NULL, at timestamptz NOT NULL DEFAULT now())`,
      )
      if (await isCurrent(database, sql)) return
      const from = (await readVersion(database, sql))?.version ?? 0
      for (const [i, { sql: text, oldest }] of MIGRATIONS.entries()) {
        if (i < from) continue
        for (const statement of splitStatements(text(schema))) await sql.run(statement)
        await sql.run(
          `INSERT INTO ${database.table('migrations')} (version, oldest) VALUES ($1, $2)`,
          i + 1,
          oldest,
        )
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
  const existing = await sql.all(
    'SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2',
    database.address.schema,
    'migrations',
  )
  if (existing.length === 0) return undefined
  const [row] = await sql.all<SchemaVersion>(
    `SELECT version, oldest FROM ${database.table('migrations')} ORDER BY version DESC LIMIT 1`,
  )
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
