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

/** How often an insert is repeated because another process has purged the entry that prevented it. */
const MAX_INSERT_ATTEMPTS = 5

/** The result of inserting an entry. `rejected` means that the database cannot store it. */
export type Inserted = Added | { result: 'rejected'; error: unknown }

interface PendingAdd {
  entry: DeadLetter
  maxEntries: number
  /** Values of {@link COLUMNS}. */
  row: ColumnValue[]
}

/** The entries to insert, and those that the limit excludes. */
interface FittingAdds {
  readonly chosen: readonly PendingAdd[]
  readonly surplus: ReadonlySet<PendingAdd>
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

const createChangedError = () =>
  new HoldfastError(
    'STORE_UNAVAILABLE',
    'other processes added and purged entries with the same id or idempotency key again and again; retry',
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
    const results = new Map<PendingAdd, Inserted>()
    let missing = waiting
    for (let attempt = 1; missing.length > 0; attempt++) {
      if (attempt > MAX_INSERT_ATTEMPTS) throw createChangedError()
      let fitting: FittingAdds = { chosen: missing, surplus: new Set() }
      if (limit < Number.POSITIVE_INFINITY) {
        const open = await this.countOpen(sql)
        this.isNearLimit = open + missing.length + EXACT_COUNT_MARGIN > limit
        if (this.isNearLimit && !isExclusive && attempt === 1) return undefined
        if (open + missing.length > limit) fitting = await this.chooseFitting(sql, missing, open)
      }
      for (const [one, result] of await this.insertFitting(sql, missing, fitting)) results.set(one, result)
      missing = missing.filter((one) => !results.has(one))
    }
    return waiting.map((one) => results.get(one) as Inserted)
  }

  /**
   * Inserts entries. One that is neither new nor found has no result: it was not inserted because of an entry with the same id or
   * key, which another process has purged since.
   */
  private async insertFitting(
    sql: SqlTransaction,
    waiting: readonly PendingAdd[],
    { chosen, surplus }: FittingAdds,
  ): Promise<Map<PendingAdd, Inserted>> {
    const inserted = chosen.length === 0 ? new Set<string>() : await this.insertAll(sql, chosen)
    // Of two entries with the same id in one call, the first was added.
    const added = new Set(chosen.filter((one) => inserted.delete(idOf(one))))
    const rest = waiting.filter((one) => !added.has(one))
    const known =
      rest.length === 0 ? new Map<string, DeadLetter | undefined>() : await this.findExisting(sql, rest)
    const results = new Map<PendingAdd, Inserted>()
    for (const one of waiting) {
      const same = known.get(keyOf(one)) ?? known.get(idOf(one))
      if (added.has(one)) results.set(one, { result: 'added', entry: one.entry })
      else if (same !== undefined) results.set(one, toDuplicate(same, one.entry))
      else if (known.has(keyOf(one)) || known.has(idOf(one)))
        results.set(one, { result: 'rejected', error: createBlockedError() })
      else if (surplus.has(one)) results.set(one, { result: 'full' })
    }
    return results
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
  ): Promise<FittingAdds> {
    const seen = new Set((await this.findExisting(sql, waiting)).keys())
    const chosen: PendingAdd[] = []
    const surplus = new Set<PendingAdd>()
    let count = open
    for (const one of waiting) {
      const [id, key] = [idOf(one), keyOf(one)]
      if (seen.has(id) || seen.has(key)) continue
      if (count >= one.maxEntries) {
        surplus.add(one)
        continue
      }
      if (one.entry.status !== 'completed') count++
      seen.add(id).add(key)
      chosen.push(one)
    }
    return { chosen, surplus }
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
