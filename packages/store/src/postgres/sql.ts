import { isHoldfastError } from 'holdfast'
import type { PooledClient, PostgresClient, PostgresRow } from './driver.js'
import { sqlState } from './failure.js'
import { COMMIT, ROLLBACK } from './statements/connection.js'
import type { PostgresValue } from './statements/parameters.js'

/** The statements of a transaction. */
export interface SqlTransaction {
  all<R = PostgresRow>(text: string, ...values: PostgresValue[]): Promise<R[]>
  /** Runs a statement and returns how many rows were changed. */
  run(text: string, ...values: PostgresValue[]): Promise<number>
  /** Sends the last statement of a transaction together with its COMMIT. `value` is the result of the transaction. */
  finish<T>(value: T, text: string, ...values: PostgresValue[]): Promise<T>
  /** The same for a statement that returns rows, which are stored in `value`. */
  finishInto<R, T extends { rows: R[] }>(value: T, text: string, ...values: PostgresValue[]): Promise<T>
}

/** Rolls back a failed attempt. Returns the error if the connection cannot be used any more. */
export async function rollBack(client: PooledClient, error: unknown): Promise<Error | undefined> {
  const failure = error instanceof Error ? error : new Error(String(error))
  // After an error of this store, or one that the server reported, the connection is still usable.
  if (sqlState(error) === undefined && !isHoldfastError(error)) return failure
  try {
    await client.query(ROLLBACK)
    return undefined
  } catch {
    return failure
  }
}

const firstResult = (result: Awaited<ReturnType<PostgresClient['query']>>) =>
  Array.isArray(result) ? (result.at(-1) as Exclude<typeof result, unknown[]>) : result

/** Creates the statements of a transaction on a connection. `onFinishing` is called before the last one. */
export function createSqlTransaction(
  client: PostgresClient,
  onFinishing: (value: unknown) => void,
): SqlTransaction {
  async function finish(value: unknown, text: string, values: PostgresValue[]): Promise<PostgresRow[]> {
    onFinishing(value)
    const done = client.query(text, values)
    // After a failed statement, COMMIT only ends the transaction.
    const committed = client.query(COMMIT)
    committed.catch(() => {})
    const { rows } = firstResult(await done)
    await committed
    return rows
  }
  return {
    all: async <R>(text: string, ...values: PostgresValue[]) =>
      firstResult(await client.query(text, values)).rows as R[],
    run: async (text, ...values) => firstResult(await client.query(text, values)).rowCount ?? 0,
    async finish(value, text, ...values) {
      await finish(value, text, values)
      return value
    },
    async finishInto<R, T extends { rows: R[] }>(value: T, text: string, ...values: PostgresValue[]) {
      value.rows = (await finish(value, text, values)) as R[]
      return value
    },
  }
}
