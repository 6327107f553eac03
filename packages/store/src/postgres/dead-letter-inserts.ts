import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import { columnValues } from '../dead-letter-columns.js'
import { toDuplicate } from '../dead-letter-decisions.js'
import type { Added } from '../dead-letter-store.js'
import { BatchLoader } from './batch-loader.js'
import type { PostgresDatabase } from './database.js'
import {
  type ColumnValue,
  type PostgresDeadLetterRow,
  readableDeadLetters,
  transpose,
} from './dead-letter-rows.js'
import { isDataError } from './failure.js'
import { LOCKS } from './locks.js'
import type { SqlTransaction } from './sql.js'
import { COLUMNS, deadLetterStatements } from './statements/dead-letters.js'

/** How many entries one transaction adds. */
const MAX_BATCH_ENTRIES = 512

/** Inserts closer than this to the limit of entries count them exactly, under an exclusive lock. */
const EXACT_COUNT_MARGIN = 10_000

/** The result of inserting an entry. `rejected` means that the database cannot store it. */
export type Inserted = Added | { result: 'rejected'; error: unknown }

interface PendingAdd {
  entry: DeadLetter
  maxEntries: number
  /** Values of {@link COLUMNS}. */
  row: ColumnValue[]
}

const COLUMN_LIST = Object.values(COLUMNS)
const [ID_INDEX, KEY_INDEX, PAYLOAD_INDEX] = [COLUMNS.id, COLUMNS.key, COLUMNS.original_payload].map(
  (column) => COLUMN_LIST.indexOf(column),
) as [number, number, number]

const idOf = ({ row }: PendingAdd) => row[ID_INDEX] as string
const keyOf = ({ row }: PendingAdd) => row[KEY_INDEX] as string

/** The damaged row keeps its place, because an operator may be able to repair it. The new entry stays in the disk fallback. */
const createBlockedError = () =>
  new HoldfastError(
    'STORE_UNAVAILABLE',
    'a damaged row has the same id or idempotency key; repair or delete it',
  )

/** Adds entries. Those of one turn of the event loop, or during a running batch, go into one transaction. */
export class DeadLetterInserts {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof deadLetterStatements>
  private readonly loader: BatchLoader<PendingAdd, Inserted>
  /** Whether the number of entries was near the limit at the last insert, so that the next one must count exactly. */
  private isNearLimit = false

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = deadLetterStatements(database.table)
    this.loader = new BatchLoader((waiting) => this.insertOrSplit(waiting), {
      maxItems: MAX_BATCH_ENTRIES,
      maxConcurrent: 2,
      runLater: database.runLater,
      sizeOf: ({ row }) => (row[PAYLOAD_INDEX] as string).length,
    })
  }

  whenIdle(): Promise<void> {
    return this.loader.whenIdle()
  }

  /** Adds entries with one result each. An entry that cannot be stored does not fail the others. */
  async add(entries: readonly DeadLetter[], maxEntries: number): Promise<Inserted[]> {
    const waiting = entries.map((entry) => ({
      entry,
      maxEntries,
      row: columnValues(COLUMN_LIST, entry, null),
    }))
    const added = []
    for (let at = 0; at < waiting.length; at += MAX_BATCH_ENTRIES)
      added.push(this.loader.load(waiting.slice(at, at + MAX_BATCH_ENTRIES)))
    return (await Promise.all(added)).flat()
  }

  private async insertOrSplit(waiting: readonly PendingAdd[]): Promise<Inserted[]> {
    try {
      return await this.insert(waiting)
    } catch (error) {
      if (!isDataError((error as Error).cause)) throw error
      if (waiting.length === 1) return [{ result: 'rejected', error }]
      const half = Math.ceil(waiting.length / 2)
      const first = await this.insertOrSplit(waiting.slice(0, half))
      return [...first, ...(await this.insertOrSplit(waiting.slice(half)))]
    }
  }

  private async insert(waiting: readonly PendingAdd[]): Promise<Inserted[]> {
    const limit = Math.min(...waiting.map(({ maxEntries }) => maxEntries))
    for (;;) {
      const isExclusive = this.isNearLimit
      const results = await this.database.write((sql) => this.runBatch(sql, waiting, limit, isExclusive), {
        lock: this.database.lockStatement(LOCKS.adds, !isExclusive),
        // Few attempts, because the caller waits with a failed call and can use the disk fallback.
        attempts: 2,
        isCommitted: (sql, done) => this.isCommitted(sql, waiting, done),
      })
      if (results !== undefined) return results
    }
  }

  /** Undefined if the batch needs the exclusive lock and does not have it. */
  private async runBatch(
    sql: SqlTransaction,
    waiting: readonly PendingAdd[],
    limit: number,
    isExclusive: boolean,
  ): Promise<Inserted[] | undefined> {
    let chosen: ReadonlySet<PendingAdd> | undefined
    if (limit < Number.POSITIVE_INFINITY) {
      const open = await this.countOpen(sql)
      this.isNearLimit = open + waiting.length + EXACT_COUNT_MARGIN > limit
      if (this.isNearLimit && !isExclusive) return undefined
      if (open + waiting.length > limit) chosen = await this.chooseFitting(sql, waiting, open)
    }
    const fresh = chosen === undefined ? waiting : waiting.filter((one) => chosen.has(one))
    const inserted = fresh.length === 0 ? new Set<string>() : await this.insertAll(sql, fresh)
    // Of two entries with the same id in one call, the first was added.
    const added = new Set(fresh.filter((one) => inserted.delete(idOf(one))))
    const rest = waiting.filter((one) => !added.has(one))
    const known =
      rest.length === 0 ? new Map<string, DeadLetter | undefined>() : await this.findExisting(sql, rest)
    return waiting.map((one): Inserted => {
      if (added.has(one)) return { result: 'added', entry: one.entry }
      const same = known.get(keyOf(one)) ?? known.get(idOf(one))
      if (same !== undefined) return toDuplicate(same, one.entry)
      const isBlocked = known.has(keyOf(one)) || known.has(idOf(one))
      return isBlocked ? { result: 'rejected', error: createBlockedError() } : { result: 'full' }
    })
  }

  private async countOpen(sql: SqlTransaction): Promise<number> {
    const [row] = await sql.all<{ open: string }>(this.statements.countOpen)
    return Number(row?.open)
  }

  /** Selects the entries that can be added below the limit. The exclusive lock keeps other processes from adding meanwhile. */
  private async chooseFitting(
    sql: SqlTransaction,
    waiting: readonly PendingAdd[],
    open: number,
  ): Promise<Set<PendingAdd>> {
    const seen = new Set((await this.findExisting(sql, waiting)).keys())
    const chosen = new Set<PendingAdd>()
    let count = open
    for (const one of waiting) {
      const [id, key] = [idOf(one), keyOf(one)]
      if (seen.has(id) || seen.has(key) || count >= one.maxEntries) continue
      if (one.entry.status !== 'completed') count++
      seen.add(id).add(key)
      chosen.add(one)
    }
    return chosen
  }

  /** Inserts the entries with a new id and key. Returns their ids. */
  private async insertAll(sql: SqlTransaction, waiting: readonly PendingAdd[]): Promise<Set<string>> {
    const rows = await sql.all<{ id: string }>(
      this.statements.insert,
      randomUUID(),
      ...transpose(
        waiting.map(({ row }) => row),
        COLUMN_LIST.length,
      ),
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** The existing entries by the hashes of their ids and keys; undefined for a damaged one. */
  private async findExisting(
    sql: SqlTransaction,
    waiting: readonly PendingAdd[],
  ): Promise<Map<string, DeadLetter | undefined>> {
    const rows = await sql.all<PostgresDeadLetterRow & { hex: string; key: string }>(
      this.statements.selectExisting,
      waiting.map(idOf),
      waiting.map(keyOf),
    )
    return new Map(
      rows.flatMap((row) => {
        const entry = readableDeadLetters(this.database, [row])[0]?.entry
        return [[row.hex, entry] as const, [row.key, entry] as const]
      }),
    )
  }

  private async isCommitted(
    sql: SqlTransaction,
    waiting: readonly PendingAdd[],
    done: Inserted[] | undefined,
  ): Promise<boolean> {
    const first = waiting.find((_, i) => done?.[i]?.result === 'added')
    if (first === undefined) return false
    return (await sql.all(this.statements.exists, idOf(first))).length > 0
  }
}
