import { DEAD_LETTER_METHODS } from '../dead-letter-store.js'
import type { SqlitePlatform } from './platform.js'
import { createTables, type SqliteTables, type TableOptions } from './tables.js'

/** The part of the tables that a call is for, and the name of its method. */
export type TableName = keyof SqliteTables

/** Runs the methods of the tables, in this thread or in another one. */
export interface TableHost {
  /** Calls a method. */
  call(table: TableName, method: string, args: readonly unknown[]): Promise<unknown>
  /** Whether rows were found that cannot be read. */
  readonly hasUnreadableRows: boolean
  /** Commits some writes synchronously. Absent where another thread commits. */
  commitNow?(): void
}

type AnyMethod = (...args: readonly unknown[]) => Promise<unknown>

/** Calls a method of tables by its name. */
export const callTable = (
  tables: SqliteTables,
  table: TableName,
  method: string,
  args: readonly unknown[],
): Promise<unknown> =>
  (tables[table] as unknown as Record<string, AnyMethod>)[method]?.(...args) as Promise<unknown>

/** Runs the tables in this thread. */
export function createLocalHost(file: string, options: TableOptions, platform?: SqlitePlatform): TableHost {
  const { tables, writes } = createTables(file, options, platform)
  return {
    call: (table, method, args) => callTable(tables, table, method, args),
    get hasUnreadableRows() {
      return writes.unreadableRows.hasRows
    },
    commitNow: () => writes.commitNow(),
  }
}

const JOURNAL_METHODS = ['insert', 'list', 'expire', 'count'] as const

/** The methods of each table. */
const METHODS: { readonly [T in TableName]: readonly (keyof SqliteTables[T])[] } = {
  file: ['open', 'resume', 'close'],
  sessions: [...JOURNAL_METHODS, 'get'],
  events: JOURNAL_METHODS,
  errors: JOURNAL_METHODS,
  audit: JOURNAL_METHODS,
  breakerEvents: JOURNAL_METHODS,
  breakers: ['save', 'load', 'delete'],
  metrics: ['save', 'load', 'expire'],
  layers: ['latest', 'history', 'append', 'expire', 'rewrite'],
  deadLetters: ['insert', ...DEAD_LETTER_METHODS],
  values: ['get', 'set', 'delete', 'list'],
}

/** Tables whose methods call the current host. */
export function tablesOf(host: () => TableHost): SqliteTables {
  const forward = (table: TableName) =>
    Object.fromEntries(
      (METHODS[table] as readonly string[]).map((method): [string, AnyMethod] => [
        method,
        (...args) => host().call(table, method, args),
      ]),
    )
  return Object.fromEntries(
    (Object.keys(METHODS) as TableName[]).map((table) => [table, forward(table)]),
  ) as unknown as SqliteTables
}
