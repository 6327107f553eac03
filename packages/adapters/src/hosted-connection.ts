/** A connection of `pg`, of which an ORM calls `query` with a callback or awaits its promise. */
export interface QueryConnection {
  query(statement: unknown, ...args: unknown[]): unknown
}

/** A connection whose transaction belongs to `holdfast/sql`, and whether the ORM has rolled it back. */
export interface HostedConnection<C> {
  readonly connection: C
  isRolledBack(): boolean
}

const CONTROL_STATEMENT = /^\s*(begin|commit|rollback)\s*;?\s*$/i

const textOf = (statement: unknown): string =>
  typeof statement === 'string' ? statement : String((statement as { text?: unknown } | null)?.text)

/**
 * Returns the connection for an ORM that sends BEGIN, COMMIT and ROLLBACK itself. These statements are answered without being
 * sent, because `withTransaction` of `holdfast/sql` begins, commits and rolls back. A SAVEPOINT and all other statements pass
 * through.
 */
export function hostConnection<C extends QueryConnection>(connection: C): HostedConnection<C> {
  let isRolledBack = false
  const query = (statement: unknown, ...args: unknown[]): unknown => {
    const command = CONTROL_STATEMENT.exec(textOf(statement))?.[1]?.toUpperCase()
    if (command === undefined) return connection.query(statement, ...args)
    isRolledBack ||= command === 'ROLLBACK'
    const answer = { command, rowCount: null, oid: 0, rows: [], fields: [] }
    const callback = args.at(-1)
    if (typeof callback !== 'function') return Promise.resolve(answer)
    queueMicrotask(() => callback(null, answer))
    return undefined
  }
  const hosted = new Proxy(connection, {
    get(target, name) {
      if (name === 'query') return query
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' && name !== 'constructor' ? value.bind(target) : value
    },
  })
  return { connection: hosted, isRolledBack: () => isRolledBack }
}

/** Prevents a COMMIT after the function has rolled back and returned a value. */
export function throwIfRolledBack({ isRolledBack }: HostedConnection<unknown>): void {
  if (isRolledBack()) throw new Error('the function rolled the transaction back')
}
