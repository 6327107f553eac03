import { reportOnce } from '../report.js'
import type { TransactionClient, TransactionPool } from './pool.js'

/** How far the server's and the client's view of when a transaction began may lie apart. */
const MAX_START_DIFFERENCE_MS = 5000

/** Stops on the server what runs on a connection that was given up. */
export type CancelStatement = (client: TransactionClient) => unknown

/**
 * Asks the server, over another connection of the pool, to cancel the statement that a backend runs. A pooler between
 * the two gives process ids of its own, so the backend must have a transaction of this user in this database that began
 * when this one did.
 */
async function cancelBackend(pool: TransactionPool, pid: number, elapsed: () => number): Promise<void> {
  const client = await pool.connect()
  let isBroken = true
  client.on?.('error', ignore)
  try {
    await client.query(
      `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = ${pid} AND state = 'active' ` +
        'AND usename = current_user AND datname = current_database() AND ' +
        `abs(extract(epoch FROM clock_timestamp() - xact_start) * 1000 - ${Math.round(elapsed())}) < ${MAX_START_DIFFERENCE_MS}`,
    )
    isBroken = false
  } finally {
    client.release(isBroken)
    if (!isBroken) client.removeListener?.('error', ignore)
  }
}

const ignore = () => {}

/** The process of the server behind a connection of `pg`. */
const pidOf = ({ processID: pid }: { readonly processID?: unknown }): number | undefined =>
  typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 ? pid : undefined

/**
 * Cancels what runs on a connection that was closed because nobody waits for it any more: the server would go on with the
 * statement, and hold its locks, until it has something to send. Nothing is cancelled where the pool tells no process id.
 */
export function cancelStatement(
  pool: TransactionPool,
  client: TransactionClient,
  cancel: boolean | CancelStatement,
  elapsed: () => number,
): void {
  const pid = pidOf(client as { processID?: unknown })
  const cancelling = async () => {
    if (typeof cancel === 'function') await cancel(client)
    else if (cancel && pid !== undefined) await cancelBackend(pool, pid, elapsed).catch(ignore)
  }
  // Nobody can be told of a failure: the call has ended.
  cancelling().catch((error: unknown) => reportOnce('cancel', cancel as object, error))
}
