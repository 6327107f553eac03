import { HoldfastError } from 'holdfast'
import type { SqliteValue } from './statements/parameters.js'

export type SqliteRow = Record<string, SqliteValue>

export interface SqliteStatement {
  /** Runs the statement and returns how many rows it changed. */
  run(values: readonly SqliteValue[]): number
  get(values: readonly SqliteValue[]): SqliteRow | undefined
  all(values: readonly SqliteValue[]): SqliteRow[]
}

/** The methods that the store needs of a SQLite driver. Everything is synchronous. */
export interface SqliteDriver {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

export type SqliteDriverName = 'node:sqlite' | 'libsql'

/** The used part of `node:sqlite`. */
interface NodeStatement {
  run(...values: SqliteValue[]): { changes: number | bigint }
  get(...values: SqliteValue[]): SqliteRow | undefined
  all(...values: SqliteValue[]): SqliteRow[]
}
interface NodeSqlite {
  DatabaseSync: new (
    file: string,
  ) => {
    exec(sql: string): void
    prepare(sql: string): NodeStatement
    close(): void
  }
}

/** Undefined if this Node.js has no SQLite, or requires a flag for it. */
function loadNodeSqlite(): NodeSqlite | undefined {
  const { getBuiltinModule } = process as { getBuiltinModule?: (id: string) => unknown }
  return getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined
}

/** Loads `node:sqlite` if there is one, else libsql. Returns the function that opens a file. */
export async function loadSqliteDriver(name?: SqliteDriverName): Promise<(file: string) => SqliteDriver> {
  const node = name === 'libsql' ? undefined : loadNodeSqlite()
  if (node !== undefined) return (file) => createNodeDriver(node, file)
  if (name === 'node:sqlite') throw new Error('this Node.js has no node:sqlite')
  const Database = await loadLibsql()
  return (file) => createLibsqlDriver(file, Database)
}

/** Opens a file with `node:sqlite` if there is one, else with libsql. */
export async function openSqliteDriver(file: string, name?: SqliteDriverName): Promise<SqliteDriver> {
  return (await loadSqliteDriver(name))(file)
}

/** The used part of libsql. */
type LibsqlDatabase = new (
  file: string,
) => {
  exec(sql: string): unknown
  prepare(sql: string): LibsqlStatement
  close(): unknown
}

/** Loads libsql, which has a native part for each platform. @throws STORE_UNAVAILABLE if it is not installed */
async function loadLibsql(): Promise<LibsqlDatabase> {
  try {
    return ((await import('libsql')) as unknown as { default: LibsqlDatabase }).default
  } catch (cause) {
    const [reason = ''] = String((cause as Error | undefined)?.message ?? cause).split('\n')
    throw new HoldfastError(
      'STORE_UNAVAILABLE',
      `a store in SQLite needs the package libsql, which cannot be loaded (${reason}); install it with npm install libsql, use Node.js 22.13 or later, which has SQLite built in, or choose another store, such as files:DIR`,
      { cause, status: 503 },
    )
  }
}

function createNodeDriver({ DatabaseSync }: NodeSqlite, file: string): SqliteDriver {
  const database = new DatabaseSync(file)
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        run: (values) => Number(statement.run(...values).changes),
        get: (values) => statement.get(...values),
        all: (values) => statement.all(...values),
      }
    },
    close: () => database.close(),
  }
}

function createLibsqlDriver(file: string, Database: LibsqlDatabase): SqliteDriver {
  const database = new Database(file)
  return {
    exec: (sql) => void database.exec(sql),
    prepare(sql) {
      // After `all`, a statement runs its next `get` with the previous values, so each method has a statement of its own.
      // An array is passed as it is, because spread values would be copied into one.
      const created: Record<string, LibsqlStatement> = {}
      const statementFor = (method: string) => (created[method] ??= database.prepare(sql))
      return {
        run: (values) => statementFor('run').run(values).changes,
        get: (values) => toUint8Arrays(statementFor('get').get(values)),
        all: (values) => statementFor('all').all(values).map(toUint8Arrays) as SqliteRow[],
      }
    },
    close: () => void database.close(),
  }
}

interface LibsqlStatement {
  run(values: readonly SqliteValue[]): { changes: number }
  get(values: readonly SqliteValue[]): SqliteRow | undefined
  all(values: readonly SqliteValue[]): SqliteRow[]
}

/** libsql returns blobs as ArrayBuffer. */
function toUint8Arrays<R extends SqliteRow | undefined>(row: R): R {
  for (const key in row) {
    const value: unknown = row[key]
    if (value instanceof ArrayBuffer) (row as SqliteRow)[key] = new Uint8Array(value)
  }
  return row
}
