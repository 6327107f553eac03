/** A connection of `pg`, of which an ORM calls `query` with a callback or awaits its promise. */
export interface QueryConnection {
  query(statement: unknown, ...args: unknown[]): unknown
}

type Callback = (error: Error | null, result?: unknown) => void

const CONTROL_STATEMENT = /^\s*(begin|commit|rollback)\s*;?\s*$/i

const textOf = (statement: unknown): string =>
  typeof statement === 'string' ? statement : String((statement as { text?: unknown } | null)?.text)

/** Answers a statement that is not sent, as `pg` does: by the callback, or by the returned promise. */
function answer(callback: unknown, error: Error | null, result?: unknown): Promise<unknown> | undefined {
  if (typeof callback !== 'function') return error ? Promise.reject(error) : Promise.resolve(result)
  queueMicrotask(() => (callback as Callback)(error, result))
  return undefined
}

/**
 * Runs the transaction of an ORM that sends BEGIN, COMMIT and ROLLBACK itself on a connection whose transaction belongs to
 * `withTransaction` of `holdfast/sql`. These statements are answered without being sent. A SAVEPOINT and all other statements
 * pass through until the transaction of the ORM has ended: a later one would run outside of the transaction.
 *
 * @throws an error if the ORM has rolled back and returned a value, because the transaction must not be committed then
 */
export async function runHosted<C extends QueryConnection, T>(
  connection: C,
  transaction: (connection: C) => Promise<T>,
): Promise<T> {
  let isRolledBack = false
  let isEnded = false
  const query = (statement: unknown, ...args: unknown[]): unknown => {
    const callback = args.at(-1)
    if (isEnded) return answer(callback, new Error('the transaction has ended'))
    const command = CONTROL_STATEMENT.exec(textOf(statement))?.[1]?.toUpperCase()
    if (command === undefined) return connection.query(statement, ...args)
    isRolledBack ||= command === 'ROLLBACK'
    return answer(callback, null, { command, rowCount: null, oid: 0, rows: [], fields: [] })
  }
  const hosted = new Proxy(connection, {
    get(target, name) {
      if (name === 'query') return query
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' && name !== 'constructor' ? value.bind(target) : value
    },
  })
  try {
    const value = await transaction(hosted)
    if (isRolledBack) throw new Error('the function rolled the transaction back')
    return value
  } finally {
    isEnded = true
  }
}
