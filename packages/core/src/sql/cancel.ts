import { reportOnce } from '../report.js'
import type { TransactionClient, TransactionPool } from './pool.js'

/** The tolerance between the start of the transaction on the server and on the client. */
const MAX_START_DIFFERENCE_MS = 5000

/** Cancels the running statement of an abandoned connection on the server. */
export type CancelStatement = (client: TransactionClient) => unknown

/**
 * Cancels the statement of a backend through another connection of the pool. A connection pooler reports process ids that do
 * not belong to the server, so the backend must also run a transaction of the same user in the same database that began at
 * the same time.
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

/** The server process id of a `pg` connection. */
const pidOf = ({ processID: pid }: { readonly processID?: unknown }): number | undefined =>
  typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 ? pid : undefined

/**
 * Cancels the running statement of a connection that was closed because of a deadline or abort. Otherwise the server would
 * continue with the statement, and hold its locks, until it sends data. Without a process id nothing is cancelled.
 */
export function cancelStatement(
  pool: TransactionPool,
  client: TransactionClient,
  cancel: boolean | CancelStatement,
  elapsed: () => number,
): void {
  const pid = pidOf(client as { processID?: unknown })
  const runCancel = async () => {
    if (typeof cancel === 'function') await cancel(client)
    else if (cancel && pid !== undefined) await cancelBackend(pool, pid, elapsed).catch(ignore)
  }
  // The call has already ended, so an error can only be reported.
  runCancel().catch((error: unknown) => reportOnce('cancel', cancel as object, error))
}
