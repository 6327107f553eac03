import { isHoldfastError } from 'holdfast'
import type { PooledClient, PostgresClient, PostgresRow, PostgresValue } from './driver.js'
import { sqlState } from './failure.js'

/** What a transaction works with. */
export interface SqlTransaction {
  all<R = PostgresRow>(text: string, ...values: PostgresValue[]): Promise<R[]>
  /** Tells how many rows were changed. */
  run(text: string, ...values: PostgresValue[]): Promise<number>
  /** Runs the last statement of a transaction and its COMMIT at a stroke. `value` is what the transaction comes to. */
  finish<T>(value: T, text: string, ...values: PostgresValue[]): Promise<T>
  /** The same for a statement whose rows are wanted: they are put into `value`. */
  finishInto<R, T extends { rows: R[] }>(value: T, text: string, ...values: PostgresValue[]): Promise<T>
}

/** Takes back what a failed attempt did. Gives the error where the connection is no good any more. */
export async function rollBack(client: PooledClient, error: unknown): Promise<Error | undefined> {
  const failure = error instanceof Error ? error : new Error(String(error))
  // An error that is ours, or that the server reported and survived, leaves the connection as it was.
  if (sqlState(error) === undefined && !isHoldfastError(error)) return failure
  try {
    await client.query('ROLLBACK')
    return undefined
  } catch {
    return failure
  }
}

const firstResult = (result: Awaited<ReturnType<PostgresClient['query']>>) =>
  Array.isArray(result) ? (result.at(-1) as Exclude<typeof result, unknown[]>) : result

/** What a transaction on a connection works with. `onFinishing` is told before its last statement. */
export function createSqlTransaction(
  client: PostgresClient,
  onFinishing: (value: unknown) => void,
): SqlTransaction {
  async function finish(value: unknown, text: string, values: PostgresValue[]): Promise<PostgresRow[]> {
    onFinishing(value)
    const done = client.query(text, values)
    // After a statement that failed it only ends the transaction.
    const committed = client.query('COMMIT')
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
