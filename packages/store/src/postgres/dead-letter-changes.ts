import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '@holdfast/records'
import { BatchLoader } from './batch-loader.js'
import type { PostgresDatabase } from './database.js'
import { countUpdate } from './dead-letter-counts.js'
import {
  CHANGING_COLUMNS,
  changingValues,
  fromRow,
  type PostgresDeadLetterRow,
  type StoredDeadLetter,
  transpose,
} from './dead-letter-rows.js'
import { sqlState } from './failure.js'
import { hashName } from './names.js'
import type { SqlTransaction } from './sql.js'

/** A decision about an entry. Without an `entry` it is not changed. */
export interface EntryChange<R> {
  result: R
  entry?: DeadLetter
  owner?: string | null
}

interface PendingChange {
  id: string
  decide(stored: StoredDeadLetter | undefined): EntryChange<unknown>
  /** The entry as this process leased it. It is current unless another process has changed it since. */
  known?: StoredDeadLetter | undefined
}

/** How many changes one transaction makes. */
const MAX_BATCH = 256

/** How many leased entries are remembered. Others are read again when they are settled. */
const MAX_REMEMBERED_LEASES = 1000

const NAMES = Object.keys(CHANGING_COLUMNS)
/** Unchanged error details are not sent. */
const SET_CLAUSE = NAMES.map(
  (name) =>
    `${name} = ${name === 'error_details' ? `coalesce(given.${name}, stored.${name})` : `given.${name}`}`,
).join(', ')
const ARRAYS = Object.values(CHANGING_COLUMNS).map((type, i) => `$${i + 5}::${type}[]`)

/** Changes single entries. Changes of one turn of the event loop, or during a running batch, go into one transaction. */
export class DeadLetterChanges {
  private readonly database: PostgresDatabase
  private readonly loader: BatchLoader<PendingChange, unknown>
  /** Entries that this process has leased and not settled, oldest first. */
  private readonly leased = new Map<string, StoredDeadLetter>()
  /** Called within a transaction that adds replay requests. */
  private readonly notify: (sql: SqlTransaction) => Promise<void>

  constructor(database: PostgresDatabase, notify: (sql: SqlTransaction) => Promise<void>) {
    this.database = database
    this.notify = notify
    this.loader = new BatchLoader((changes) => this.runBatch(changes), {
      maxItems: MAX_BATCH,
      maxConcurrent: 2,
    })
  }

  whenIdle(): Promise<void> {
    return this.loader.whenIdle()
  }

  /** Changes an entry by a decision about its stored state, which is locked meanwhile. `decide` may be called again. */
  async change<R>(id: string, decide: (stored: StoredDeadLetter | undefined) => EntryChange<R>): Promise<R> {
    this.leased.delete(id)
    const [result] = await this.loader.load([{ id, decide }])
    return result as R
  }

  /** The same for the end of a lease. A remembered entry is not read again. */
  async endLease<R>(
    id: string,
    decide: (stored: StoredDeadLetter | undefined) => EntryChange<R>,
  ): Promise<R> {
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
    // In the order in which a read would lock them.
    const known = changes.flatMap((each) => each.known ?? []).sort((a, b) => Number(a.seq) - Number(b.seq))
    if (known.length === changes.length) {
      try {
        return await this.commit(changes, async () => known)
      } catch (error) {
        if (!isConflict(error)) throw error
      }
    }
    return this.commit(changes, (sql) => this.read(sql, changes))
  }

  private async commit(
    changes: readonly PendingChange[],
    read: (sql: SqlTransaction) => Promise<readonly StoredDeadLetter[]>,
  ): Promise<unknown[]> {
    const token = randomUUID()
    const done = await this.database.write(async (sql) => this.apply(sql, changes, await read(sql), token), {
      isCommitted: async (sql, { first }) =>
        first !== undefined &&
        (
          await sql.all(
            `SELECT 1 FROM ${this.database.table('dead_letters')} WHERE seq = $1 AND change = $2`,
            first,
            token,
          )
        ).length > 0,
    })
    return done.results
  }

  /** Reads and locks entries. */
  private async read(sql: SqlTransaction, changes: readonly PendingChange[]): Promise<StoredDeadLetter[]> {
    // Always in the same order, so that two transactions with the same entries do not deadlock.
    const rows = await sql.all<PostgresDeadLetterRow>(
      `SELECT * FROM ${this.database.table('dead_letters')} WHERE id = ANY($1::uuid[]) ORDER BY seq FOR UPDATE`,
      [...new Set(changes.map(({ id }) => hashName(id)))],
    )
    return rows.map(fromRow)
  }

  private async apply(
    sql: SqlTransaction,
    changes: readonly PendingChange[],
    read: readonly StoredDeadLetter[],
    token: string,
  ) {
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
    const done = { results, first: changed[0]?.seq }
    return changed.length === 0 ? done : this.replace(sql, changed, before, token, done)
  }

  /** Replaces all entries, or none if one of them was changed meanwhile: the count differs, and the division by zero fails. */
  private replace<T>(
    sql: SqlTransaction,
    changed: readonly StoredDeadLetter[],
    before: ReadonlyMap<string, StoredDeadLetter>,
    token: string,
    done: T,
  ): Promise<T> {
    const { database } = this
    const old = changed.map(({ entry }) => (before.get(entry.dlqId) as StoredDeadLetter).entry)
    return sql.finish(
      done,
      `WITH changed AS (
        UPDATE ${database.table('dead_letters')} AS stored SET change = $1, ${SET_CLAUSE}
          FROM unnest($2::bigint[], $3::text[], $4::uuid[], ${ARRAYS.join(', ')})
            AS given (seq, was, known, ${NAMES.join(', ')})
          WHERE stored.seq = given.seq AND stored.change = given.known
          RETURNING id, dlq_id, operation, operation_type, was, stored.status, stored.replayed_at, stored.last_attempt
      ), counted AS (
        ${countUpdate(
          database,
          `SELECT operation, operation_type, was AS status, -1 AS n FROM changed
            UNION ALL SELECT operation, operation_type, status, 1 FROM changed`,
        )}
      ), completed AS (
        INSERT INTO ${database.table('processed_ids')}
          SELECT id, dlq_id, coalesce(replayed_at, last_attempt) FROM changed WHERE status = 'completed'
          ON CONFLICT DO NOTHING
      ) SELECT 1 / (count(*) = ${changed.length})::int FROM changed`,
      token,
      changed.map(({ seq }) => seq),
      old.map(({ status }) => status),
      changed.map(({ change }) => change),
      ...transpose(
        changed.map(({ entry, owner }, i) => changingValues(entry, owner, old[i])),
        NAMES.length,
      ),
    )
  }
}

/** Whether another process has changed a remembered entry. */
const isConflict = (error: unknown): boolean => sqlState((error as Error).cause) === DIVISION_BY_ZERO

const DIVISION_BY_ZERO = '22012'
