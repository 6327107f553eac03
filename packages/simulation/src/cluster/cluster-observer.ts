import type { RetrySession } from '@holdfast/records'
import type { Holdfast } from '@holdfast/runtime'
import type { StoredBreaker } from '@holdfast/store'
import type { AppendObserver } from '../invariants/record-model.js'
import type { Process } from '../process/simulated-node.js'

/** What happens in a cluster. */
export interface ClusterObserver {
  onStarted(process: Process, runtime: Holdfast): void
  onStartFailed(process: Process, error: unknown): void
  onKilled(process: Process): void
  /** A process closes its runtime, and has closed it. */
  onClosing(process: Process): void
  onClosed(process: Process): void
  /** The server of the store has executed a request of a process. */
  onStoreExecuted(process: string, method: string, args: readonly unknown[], result: unknown): void
  /** A method of the store of a process in SQLite has resolved. */
  onSqliteResolved(process: Process, method: string, args: readonly unknown[], result: unknown): void
  /** The machine of a node with a SQLite file has lost its power, and commits that were not flushed. */
  onUnflushedLost(node: string): void
  /** The thread of a SQLite store has ended, and its process sends calls again. */
  onThreadEnded(node: string): void
  /** Runs a check of a promise. */
  check(fn: () => void): void
  /** A process appends records to a journal on the server. */
  onAppend(process: string, journal: string, records: readonly object[]): AppendObserver | undefined
  /** The server has committed records of a process as JSON, or has lost them in a crash. */
  onInserted(process: string, journal: string, bodies: readonly string[], isLate: boolean): void
  onLost(journal: string, bodies: readonly string[]): void
  /** A process looks for old records of a journal on the server, or has deleted some. */
  onExpired(process: string, journal: string, count: number): void
  /** Whether PostgreSQL has a dead letter, also under another id. */
  isInDatabase(id: string): boolean
  /** A process used its store on a disk. `check` throws if a promise was not kept. */
  onDiskUsed(process: string, method: string, check: () => void): void
  /** The store on a disk reports damage. */
  onDiskWarning(process: string, line: string): void
  /** A process loads the saved breakers. The function reports them. */
  onBreakersLoad(process: string): (rows: readonly StoredBreaker[]) => void
  /** A process writes sessions to its store. */
  onSessionsWritten(process: Process, sessions: readonly RetrySession[]): void
  /** A process saves breakers. The functions report the end. */
  onBreakersSaved(
    process: string,
    rows: readonly StoredBreaker[],
  ): { onAcknowledged: () => void; onFailed: () => void } | undefined
}
