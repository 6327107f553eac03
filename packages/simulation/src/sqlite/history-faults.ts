import type { Choices } from '../engine/seeded-random.js'
import { createSqliteError, type StatementKind } from './simulated-database.js'

/** What happens to the statements of one step. */
export const STATEMENT_FAULTS = [
  /** One statement fails with IOERR. */
  'error',
  /** One statement that writes fails with FULL. */
  'full',
  /** Another process holds the lock for some attempts. */
  'busy',
  /** The process dies before or after a commit. */
  'kill_before',
  'kill_after',
  /** The thread ends before or after a commit, and its process continues. */
  'thread_before',
  'thread_after',
] as const
export type StatementFaultKind = (typeof STATEMENT_FAULTS)[number]

/** Most faults hit one of the first statements. */
const FEW_STATEMENTS = 6
const MANY_STATEMENTS = 30

/** Most calls have one commit. */
const MANY_COMMITS = 3

/** A fault that hits exactly the n-th statement or commit of a step. */
export class StatementFault {
  readonly kind: StatementFaultKind
  /** The number of the statement or commit that it hits. */
  readonly number: number
  private remaining: number
  private wasHit = false

  constructor(choices: Choices, kinds: readonly StatementFaultKind[]) {
    this.kind = choices.pick(kinds)
    const isCrash = this.isThreadCrash || this.isKill
    const most = isCrash
      ? choices.pick([1, 1, MANY_COMMITS])
      : choices.pick([FEW_STATEMENTS, MANY_STATEMENTS])
    this.number = 1 + choices.below(most)
    this.remaining = this.number
  }

  get isKill(): boolean {
    return this.kind.startsWith('kill')
  }

  get isThreadCrash(): boolean {
    return this.kind.startsWith('thread')
  }

  get isBefore(): boolean {
    return this.kind.endsWith('before')
  }

  /** Whether calls of the store can fail now. The store waits for a lock, and a call is repeated in a new thread. */
  get canFailCalls(): boolean {
    return this.isThreadCrash || this.wasHit
  }

  onStatement(kind: StatementKind): void {
    switch (this.kind) {
      case 'error':
        if (!this.isDue()) return
        throw createSqliteError('SQLITE_IOERR', 'disk I/O error')
      case 'full':
        if ((kind !== 'write' && kind !== 'commit') || !this.isDue()) return
        throw createSqliteError('SQLITE_FULL', 'database or disk is full')
      case 'busy':
        // The lock is released before the store stops waiting.
        if (kind !== 'begin' || this.remaining-- <= 0) return
        throw createSqliteError('SQLITE_BUSY', 'database is locked')
      case 'kill_before':
      case 'kill_after':
      case 'thread_before':
      case 'thread_after':
    }
  }

  /** Whether this is the statement to hit. */
  private isDue(): boolean {
    if (this.wasHit || --this.remaining > 0) return false
    this.wasHit = true
    return true
  }
}
