import { HoldfastError } from 'holdfast'
import type { SqliteConnection } from './connection.js'
import { MIGRATION_1, MIGRATION_3 } from './schema.js'
import { MIGRATION_2 } from './schema-journals.js'

/** What brings a file from one version to the next. Only ever added to: a file may be at any of them. */
const MIGRATIONS: readonly string[] = [MIGRATION_1, MIGRATION_2, MIGRATION_3]

/** Says that a file is ours: "Hold" in ASCII. */
const APPLICATION_ID = 0x486f6c64

const readPragma = (connection: SqliteConnection, pragma: string): number =>
  Number(Object.values(connection.get(`PRAGMA ${pragma}`) ?? {})[0])

/** Brings a file up to date, alone: whoever comes second finds it done. */
export function migrate(connection: SqliteConnection, file: string): void {
  // Of one state of the file: another process may be making it at this moment.
  if (connection.read(() => isCurrent(connection, file))) return
  connection.write(() => {
    const version = readPragma(connection, 'user_version')
    if (isCurrent(connection, file)) return
    for (const sql of MIGRATIONS.slice(version)) connection.exec(sql)
    connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`)
    connection.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
  }, true)
}

function isCurrent(connection: SqliteConnection, file: string): boolean {
  const application = readPragma(connection, 'application_id')
  const version = readPragma(connection, 'user_version')
  const tables = connection.get<{ n: number }>('SELECT count(*) AS n FROM sqlite_schema')?.n ?? 0
  if (application !== APPLICATION_ID && tables > 0)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the SQLite file ${file} belongs to another program; name a file of its own for the store`,
      { status: 503 },
    )
  if (version > MIGRATIONS.length)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the SQLite file ${file} was written by a later release (its version is ${version}, this one knows ${MIGRATIONS.length}); ` +
        'use that release, or another file',
      { status: 503 },
    )
  return version === MIGRATIONS.length
}
