import { isHoldfastError } from 'holdfast'
import type { Client, PooledClient, Row, Value } from './driver.js'
import { sqlState } from './failure.js'

/** What a transaction works with. */
export interface Sql {
  all<R = Row>(text: string, ...values: Value[]): Promise<R[]>
  /** Tells how many rows were changed. */
  run(text: string, ...values: Value[]): Promise<number>
  /** Runs the last statement of a transaction and its COMMIT at a stroke. `value` is what the transaction comes to. */
  finish<T>(value: T, text: string, ...values: Value[]): Promise<T>
}

/** Takes back what a failed attempt did. Gives the error where the connection is no good any more. */
export async function undone(client: PooledClient, error: unknown): Promise<Error | undefined> {
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

const one = (result: Awaited<ReturnType<Client['query']>>) =>
  Array.isArray(result) ? (result.at(-1) as Exclude<typeof result, unknown[]>) : result

/** What a transaction on a connection works with. `finishing` is told before its last statement. */
export const sqlOf = (client: Client, finishing: (value: unknown) => void): Sql => ({
  all: async <R>(text: string, ...values: Value[]) => one(await client.query(text, values)).rows as R[],
  run: async (text, ...values) => one(await client.query(text, values)).rowCount ?? 0,
  async finish(value, text, ...values) {
    finishing(value)
    const done = client.query(text, values)
    // After a statement that failed it only ends the transaction.
    const committed = client.query('COMMIT')
    committed.catch(() => {})
    await done
    await committed
    return value
  },
})
