import { randomUUID } from 'node:crypto'
import { columnValues } from '../dead-letter-columns.js'
import type { DecideChange } from '../dead-letter-decisions.js'
import { hashName } from '../text.js'
import { BatchLoader } from './batch-loader.js'
import type { PostgresDatabase } from './database.js'
import {
  type PostgresDeadLetterRow,
  readableDeadLetters,
  type StoredDeadLetter,
  transpose,
} from './dead-letter-rows.js'
import { sqlState } from './failure.js'
import type { SqlTransaction } from './sql.js'
import { CHANGING_COLUMNS, deadLetterStatements } from './statements/dead-letters.js'

interface PendingChange {
  id: string
  decide: DecideChange<unknown>
  /** The entry as this process leased it. It is current unless another process has changed it since. */
  known?: StoredDeadLetter | undefined
}

/** A transaction that may be sent several times, because the reply to its COMMIT was lost. */
interface SentChanges {
  /** Stored with each entry that the transaction changes. */
  readonly token: string
  /** What it returned and changed when it was last sent. */
  last?: { readonly results: unknown[]; readonly changed: readonly string[] }
}

/** How many changes one transaction makes. */
const MAX_BATCH_CHANGES = 256

/** How many leased entries are remembered. Others are read again when they are settled. */
const MAX_REMEMBERED_LEASES = 1000

const CHANGING = Object.values(CHANGING_COLUMNS)

/** Changes single entries. Changes of one turn of the event loop, or during a running batch, go into one transaction. */
export class DeadLetterChanges {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof deadLetterStatements>
  private readonly loader: BatchLoader<PendingChange, unknown>
  /** Entries that this process has leased and not settled, oldest first. */
  private readonly leased = new Map<string, StoredDeadLetter>()
  /** Called within a transaction that adds replay requests. */
  private readonly notify: (sql: SqlTransaction) => Promise<void>

  constructor(database: PostgresDatabase, notify: (sql: SqlTransaction) => Promise<void>) {
    this.database = database
    this.statements = deadLetterStatements(database.table)
    this.notify = notify
    this.loader = new BatchLoader((changes) => this.runBatch(changes), {
      maxItems: MAX_BATCH_CHANGES,
      maxConcurrent: 2,
      runLater: database.runLater,
    })
  }

  whenIdle(): Promise<void> {
    return this.loader.whenIdle()
  }

  /** Changes an entry by a decision about its stored state, which is locked meanwhile. `decide` may be called again. */
  async change<R>(id: string, decide: DecideChange<R>): Promise<R> {
    this.leased.delete(id)
    const [result] = await this.loader.load([{ id, decide }])
    return result as R
  }

  /** The same for the end of a lease. A remembered entry is not read again. */
  async endLease<R>(id: string, decide: DecideChange<R>): Promise<R> {
    const known = this.leased.get(id)
    this.leased.delete(id)
    const [result] = await this.loader.load([{ id, decide, known }])
    return result as R
  }

  /** Remembers entries that were just leased. */
  rememberLeases(leased: readonly StoredDeadLetter[]): void {
    for (const stored of leased) this.leased.set(stored.entry.dlqId, stored)
    for (const id of this.leased.keys()) {
      if (this.leased.size <= MAX_REMEMBERED_LEASES) return
      this.leased.delete(id)
    }
  }

  private async runBatch(changes: readonly PendingChange[]): Promise<unknown[]> {
    const sent: SentChanges = { token: randomUUID() }
    // In the order in which a read would lock them.
    const known = changes.flatMap((each) => each.known ?? []).sort((a, b) => Number(a.seq) - Number(b.seq))
    if (known.length === changes.length) {
      try {
        return await this.commit(changes, sent, async () => known)
      } catch (error) {
        if (!isConflict(error)) throw error
      }
    }
    return this.commit(changes, sent, (sql) => this.read(sql, changes))
  }

  private async commit(
    changes: readonly PendingChange[],
    sent: SentChanges,
    read: (sql: SqlTransaction) => Promise<readonly StoredDeadLetter[]>,
  ): Promise<unknown[]> {
    const done = await this.database.write(async (sql) => this.apply(sql, changes, await read(sql), sent), {
      isCommitted: async (sql, { changed }) =>
        changed.length > 0 && (await sql.all(this.statements.hasChange, changed, sent.token)).length > 0,
    })
    return done.results
  }

  /** Reads and locks entries. */
  private async read(sql: SqlTransaction, changes: readonly PendingChange[]): Promise<StoredDeadLetter[]> {
    const rows = await sql.all<PostgresDeadLetterRow>(this.statements.selectForUpdate, [
      ...new Set(changes.map(({ id }) => hashName(id))),
    ])
    return readableDeadLetters(this.database, rows)
  }

  private async apply(
    sql: SqlTransaction,
    changes: readonly PendingChange[],
    read: readonly StoredDeadLetter[],
    sent: SentChanges,
  ) {
    // A server that was stopped can commit a transaction after its connection was given up. The lock of the entries waits for it.
    if (sent.last !== undefined && read.some(({ change }) => change === sent.token)) return sent.last
    const current = new Map(read.map((stored) => [stored.entry.dlqId, stored]))
    const before = new Map(current)
    let hasRequests = false
    const results = changes.map(({ id, decide }) => {
      const stored = current.get(id)
      const { result, entry, owner = null } = decide(stored)
      if (stored !== undefined && entry !== undefined) {
        hasRequests ||= entry.replayRequestedAt != null && stored.entry.replayRequestedAt == null
        current.set(id, { ...stored, entry, owner })
      }
      return result
    })
    const changed = [...current.values()].filter((stored) => before.get(stored.entry.dlqId) !== stored)
    if (hasRequests) await this.notify(sql)
    const done = { results, changed: changed.map(({ seq }) => seq) }
    if (changed.length === 0) return done
    sent.last = done
    return this.replace(sql, changed, before, sent.token, done)
  }

  /** Replaces all entries, or none if one of them was changed meanwhile. */
  private replace<T>(
    sql: SqlTransaction,
    changed: readonly StoredDeadLetter[],
    before: ReadonlyMap<string, StoredDeadLetter>,
    token: string,
    done: T,
  ): Promise<T> {
    const old = changed.map(({ entry }) => (before.get(entry.dlqId) as StoredDeadLetter).entry)
    return sql.finish(
      done,
      this.statements.replace(changed.length),
      token,
      changed.map(({ seq }) => seq),
      old.map(({ status }) => status),
      changed.map(({ change }) => change),
      ...transpose(
        changed.map(({ entry, owner }, i) => columnValues(CHANGING, entry, owner, old[i])),
        CHANGING.length,
      ),
    )
  }
}

/** Whether another process has changed a remembered entry. */
const isConflict = (error: unknown): boolean => sqlState((error as Error).cause) === DIVISION_BY_ZERO

const DIVISION_BY_ZERO = '22012'
