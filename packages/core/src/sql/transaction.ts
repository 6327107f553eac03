import { systemClock } from '../clock.js'
import type { Attempt } from '../execution/attempt.js'
import { cancelStatement } from './cancel.js'
import { commit, isRefused, isUnsent, unknownCommit } from './commit.js'
import type { TransactionPlan } from './options.js'
import type { TransactionClient, TransactionPool } from './pool.js'

/** What a call knows of its attempts. */
export interface Progress {
  /** Whether a COMMIT was sent whose answer is not known. */
  committing: boolean
  /** Whether a deadline passed meanwhile: the answer comes too late to be heard. */
  late: boolean
}

/** A connection for one attempt, given back once: to the pool, or to be closed when it may be of no use any more. */
class Connection {
  private held = true
  private broken = false
  private readonly client: TransactionClient
  private readonly signal: AbortSignal
  private readonly onCut: () => void

  constructor(client: TransactionClient, signal: AbortSignal, onCut: () => void) {
    this.client = client
    this.signal = signal
    this.onCut = onCut
    client.on?.('error', this.onError)
    signal.addEventListener('abort', this.destroy, { once: true })
  }

  /** Without a listener the error of a lost connection would end the process. */
  private readonly onError = (): void => {
    this.broken = true
  }

  /** Nobody waits any more. The server does not end what runs with the connection, so it is told. */
  private readonly destroy = (): void => {
    this.release(true)
    this.onCut()
  }

  /** Rolls back what may have been begun, and gives the connection back. */
  async rollback(): Promise<void> {
    if (this.held && !this.broken)
      await this.client.query('ROLLBACK').catch(() => {
        this.broken = true
      })
    this.release(this.broken)
  }

  release(destroy: boolean): void {
    if (!this.held) return
    this.held = false
    this.signal.removeEventListener('abort', this.destroy)
    this.client.release(destroy || this.broken)
    // A closed connection may still tell of errors; the pool listens to the others.
    if (!destroy && !this.broken) this.client.removeListener?.('error', this.onError)
  }
}

/** Runs the transaction once, on a connection of its own. */
export async function transact<T>(
  pool: TransactionPool,
  fn: (client: never, attempt: Attempt) => T | PromiseLike<T>,
  { begin, retryUnknownCommit, cancel, guard }: TransactionPlan,
  attempt: Attempt,
  progress: Progress,
): Promise<T> {
  const { signal } = attempt
  progress.committing = false
  const client = await pool.connect()
  if (signal.aborted) {
    client.release()
    throw signal.reason
  }
  signal.addEventListener('abort', () => {
    progress.late ||= progress.committing
  })
  const { clock = systemClock } = guard
  const startedAt = clock.now()
  const connection = new Connection(client, signal, () => {
    if (!progress.committing) cancelStatement(pool, client, cancel, () => clock.now() - startedAt)
  })
  try {
    await client.query(begin)
    const value = await fn(client as never, attempt)
    signal.throwIfAborted()
    progress.committing = true
    await commit(client)
    progress.committing = false
    connection.release(false)
    return value
  } catch (error) {
    const unknown = progress.committing && !isRefused(error)
    // An attempt that nobody waits for any more has nothing to say.
    if (!signal.aborted) progress.committing = false
    if (unknown) connection.release(true)
    else await connection.rollback()
    if (unknown && !retryUnknownCommit) throw unknownCommit(guard.name ?? '', error)
    throw isUnsent(error)
      ? new Error('Connection terminated before the statement was sent', { cause: error })
      : error
  }
}
