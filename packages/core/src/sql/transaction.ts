import { systemClock } from '../clock.js'
import type { Attempt } from '../execution/attempt.js'
import { cancelStatement } from './cancel.js'
import { commitTransaction, createUnknownCommitError, wasNotCommitted, wasNotSent } from './commit.js'
import type { TransactionSettings } from './options.js'
import type { TransactionClient, TransactionPool } from './pool.js'

/** What a call knows of its attempts. */
export interface CommitProgress {
  /** Whether a COMMIT was sent whose answer is not known. */
  isCommitting: boolean
  /** Whether a deadline passed meanwhile: the answer comes too late to be heard. */
  isLate: boolean
}

/** A connection for one attempt, given back once: to the pool, or to be closed when it may be of no use any more. */
class TransactionConnection {
  private isHeld = true
  private isBroken = false
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
    this.isBroken = true
  }

  /** Nobody waits any more. The server does not end what runs with the connection, so it is told. */
  private readonly destroy = (): void => {
    this.release(true)
    this.onCut()
  }

  /** Rolls back what may have been begun, and gives the connection back. */
  async rollback(): Promise<void> {
    if (this.isHeld && !this.isBroken)
      await this.client.query('ROLLBACK').catch(() => {
        this.isBroken = true
      })
    this.release(this.isBroken)
  }

  release(destroy: boolean): void {
    if (!this.isHeld) return
    this.isHeld = false
    this.signal.removeEventListener('abort', this.destroy)
    this.client.release(destroy || this.isBroken)
    // A closed connection may still tell of errors; the pool listens to the others.
    if (!destroy && !this.isBroken) this.client.removeListener?.('error', this.onError)
  }
}

/** Runs the transaction once, on a connection of its own. */
export async function runTransaction<T>(
  pool: TransactionPool,
  fn: (client: never, attempt: Attempt) => T | PromiseLike<T>,
  { beginStatement, retryUnknownCommit, cancel, guard }: TransactionSettings,
  attempt: Attempt,
  progress: CommitProgress,
): Promise<T> {
  const { signal } = attempt
  progress.isCommitting = false
  const client = await pool.connect()
  if (signal.aborted) {
    client.release()
    throw signal.reason
  }
  signal.addEventListener('abort', () => {
    progress.isLate ||= progress.isCommitting
  })
  const { clock = systemClock } = guard
  const startedAt = clock.now()
  const connection = new TransactionConnection(client, signal, () => {
    if (!progress.isCommitting) cancelStatement(pool, client, cancel, () => clock.now() - startedAt)
  })
  try {
    await client.query(beginStatement)
    const value = await fn(client as never, attempt)
    signal.throwIfAborted()
    progress.isCommitting = true
    await commitTransaction(client)
    progress.isCommitting = false
    connection.release(false)
    return value
  } catch (error) {
    const unknown = progress.isCommitting && !wasNotCommitted(error)
    // An attempt that nobody waits for any more has nothing to say.
    if (!signal.aborted) progress.isCommitting = false
    if (unknown) connection.release(true)
    else await connection.rollback()
    if (unknown && !retryUnknownCommit) throw createUnknownCommitError(guard.name ?? '', error)
    throw wasNotSent(error)
      ? new Error('Connection terminated before the statement was sent', { cause: error })
      : error
  }
}
