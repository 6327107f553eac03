import { HoldfastError } from 'holdfast'
import type { SqliteConnection } from './connection.js'
import {
  COUNT_SCHEMA_OBJECTS,
  GET_APPLICATION_ID,
  GET_SCHEMA_VERSION,
  MIGRATIONS,
  setApplicationId,
  setSchemaVersion,
} from './statements/schema.js'

/** Marks files of this store: "Hold" in ASCII. */
const APPLICATION_ID = 0x486f6c64

const readPragma = (connection: SqliteConnection, pragma: string): number =>
  Number(Object.values(connection.get(pragma) ?? {})[0])

/** Runs the missing migrations in one transaction. A second process finds them done. */
export function migrate(connection: SqliteConnection, file: string): void {
  // In a transaction, because another process may be migrating the file at the same time.
  if (connection.read(() => isCurrent(connection, file))) return
  connection.write(() => {
    const version = readPragma(connection, GET_SCHEMA_VERSION)
    if (isCurrent(connection, file)) return
    for (const sql of MIGRATIONS.slice(version)) connection.exec(sql)
    connection.exec(setApplicationId(APPLICATION_ID))
    connection.exec(setSchemaVersion(MIGRATIONS.length))
  }, true)
}

function isCurrent(connection: SqliteConnection, file: string): boolean {
  const application = readPragma(connection, GET_APPLICATION_ID)
  const version = readPragma(connection, GET_SCHEMA_VERSION)
  const tables = connection.get<{ n: number }>(COUNT_SCHEMA_OBJECTS)?.n ?? 0
  if (application !== APPLICATION_ID && tables > 0)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the SQLite file ${file} belongs to another program; choose another file for the store`,
      { status: 503 },
    )
  if (version > MIGRATIONS.length)
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `the SQLite file ${file} was written by a later release (its schema version is ${version}, this release supports ${MIGRATIONS.length}); ` +
        'use that release, or another file',
      { status: 503 },
    )
  return version === MIGRATIONS.length
}
