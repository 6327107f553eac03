import type { Attempt } from '../attempt/attempt.js'
import { systemClock } from '../clock.js'
import { cancelStatement } from './cancel.js'
import {
  commitTransaction,
  createUnknownCommitError,
  wasNotCommitted,
  wasStatementNotSent,
} from './commit.js'
import type { TransactionSettings } from './options.js'
import type { TransactionClient, TransactionPool } from './pool.js'

/** The progress of the COMMIT of a call. */
export interface CommitProgress {
  /** Whether a COMMIT was sent and not answered yet. */
  isCommitting: boolean
  /** Whether a deadline passed or the caller aborted meanwhile, so that the result of the COMMIT is not used. */
  isLate: boolean
}

/** The connection of one attempt. It is released once: returned to the pool, or closed if it may be unusable. */
class TransactionConnection {
  private isHeld = true
  private isBroken = false
  private readonly client: TransactionClient
  private readonly signal: AbortSignal
  private readonly onAborted: () => void

  constructor(client: TransactionClient, signal: AbortSignal, onAborted: () => void) {
    this.client = client
    this.signal = signal
    this.onAborted = onAborted
    client.on?.('error', this.onError)
    signal.addEventListener('abort', this.destroy, { once: true })
  }

  /** Without a listener, the error of a lost connection would end the process. */
  private readonly onError = (): void => {
    this.isBroken = true
  }

  /** Closes the connection. The server does not end the running statement then, so it must be cancelled. */
  private readonly destroy = (): void => {
    this.release(true)
    this.onAborted()
  }

  /** Rolls back a transaction that may have begun, and releases the connection. */
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
    // A closed connection can still emit errors; the pool handles those of the others.
    if (!destroy && !this.isBroken) this.client.removeListener?.('error', this.onError)
  }
}

/** Runs the transaction once, on its own connection. */
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
    const isCommitUnknown = progress.isCommitting && !wasNotCommitted(error)
    // An aborted attempt must not change the progress, which then belongs to the next attempt.
    if (!signal.aborted) progress.isCommitting = false
    if (isCommitUnknown) connection.release(true)
    else await connection.rollback()
    if (isCommitUnknown && !retryUnknownCommit) throw createUnknownCommitError(guard.name ?? '', error)
    throw wasStatementNotSent(error)
      ? new Error('Connection terminated before the statement was sent', { cause: error })
      : error
  }
}
