import { HoldfastError } from 'holdfast'
import type { PostgresDatabase } from './database.js'
import { LOCKS } from './locks.js'
import { migration1 } from './schema.js'
import type { SqlTransaction } from './sql.js'

/** What brings a schema from one version to the next. */
interface SchemaMigration {
  sql(schema: string): string
  /**
   * The oldest version whose programs can go on working on the result. A migration that only adds (a table, an index, a
   * column that may be empty) keeps the one before it, so that old and new programs run side by side.
   */
  oldest: number
}

/** Only ever added to: a schema may be at any of them. */
const MIGRATIONS: readonly SchemaMigration[] = [{ sql: migration1, oldest: 1 }]

interface SchemaVersion {
  version: number
  oldest: number
}

/** Brings the schema up to date, alone: whoever comes second finds it done. */
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

/** One at a time, because parameters, even none of them, allow no more. */
const splitStatements = (text: string): string[] =>
  text
    .replace(/--.*$/gm, '')
    .split(';')
    .filter((part) => part.trim() !== '')

async function readVersion(
  database: PostgresDatabase,
  sql: SqlTransaction,
): Promise<SchemaVersion | undefined> {
  const there = await sql.all(
    'SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2',
    database.address.schema,
    'migrations',
  )
  if (there.length === 0) return undefined
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
      `the PostgreSQL store ${database.address.displayName} was changed by a later release (its version is ${row.version}, ` +
        `for programs that know ${row.oldest} or later; this one knows ${MIGRATIONS.length}); use a later release`,
      { status: 503 },
    )
  return true
}
