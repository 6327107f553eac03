import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '../../records/dead-letter.js'
import { samePayload } from '../payload.js'
import type { Added } from '../store.js'
import type { Database } from './database.js'
import { counting } from './dead-letter-counts.js'
import { CHANGING, changing, type DeadLetterRow, FIXED, fixed, heldOf, turned } from './dead-letter-rows.js'
import { isDataError } from './failure.js'
import { Gather } from './gather.js'
import { LOCKS } from './locks.js'
import type { Sql } from './sql.js'

/** How many entries one transaction adds. */
const TOGETHER = 512

/** How much room there must be for those who add at a time not to count exactly. */
const NEAR = 10_000

type Cell = string | number | null

/** What became of an entry that was to be inserted: `rejected` is one that the database cannot hold. */
export type Inserted = Added | { result: 'rejected'; error: unknown }

interface Waiting {
  entry: DeadLetter
  maxEntries: number
  /** Values of {@link COLUMNS}; the hashes of its id and its key are the first two. */
  row: Cell[]
}

const COLUMNS = { ...FIXED, ...CHANGING }
const NAMES = Object.keys(COLUMNS).join(', ')
const ARRAYS = Object.values(COLUMNS).map((type, i) => `$${i + 2}::${type}[]`)

const idOf = ({ row }: Waiting) => row[0] as string
const keyOf = ({ row }: Waiting) => row[1] as string

/** Adds entries. Whatever is to be added within a turn, or while others are added, goes into one transaction. */
export class DeadLetterAdds {
  private readonly database: Database
  private readonly gather: Gather<Waiting, Inserted>
  /** Whether the limit was near when last seen, so that whoever adds must count, alone. */
  private near = false

  constructor(database: Database) {
    this.database = database
    this.gather = new Gather((waiting) => this.insertOrSplit(waiting), {
      most: TOGETHER,
      lanes: 2,
      size: ({ row }) => (row[8] as string).length,
    })
  }

  idle(): Promise<void> {
    return this.gather.idle()
  }

  /** Adds entries, each with its own result: one that cannot be stored does not fail the others. */
  async add(entries: readonly DeadLetter[], maxEntries: number): Promise<Inserted[]> {
    const waiting = entries.map((entry) => ({
      entry,
      maxEntries,
      row: [...fixed(entry), ...changing(entry, null)],
    }))
    const added = []
    for (let at = 0; at < waiting.length; at += TOGETHER)
      added.push(this.gather.put(waiting.slice(at, at + TOGETHER)))
    return (await Promise.all(added)).flat()
  }

  private async insertOrSplit(waiting: readonly Waiting[]): Promise<Inserted[]> {
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

  private async insert(waiting: readonly Waiting[]): Promise<Added[]> {
    const limit = Math.min(...waiting.map(({ maxEntries }) => maxEntries))
    for (;;) {
      const alone = this.near
      const results = await this.database.write((sql) => this.work(sql, waiting, limit, alone), {
        lock: this.database.lock(LOCKS.adds, !alone),
        // Whoever waits here waits with a failed call in hand, and there is another place to put it.
        attempts: 2,
        proof: (sql, done) => this.isThere(sql, waiting, done),
      })
      if (results !== undefined) return results
    }
  }

  /** Undefined where it must be done alone, and is not. */
  private async work(
    sql: Sql,
    waiting: readonly Waiting[],
    limit: number,
    alone: boolean,
  ): Promise<Added[] | undefined> {
    let chosen: ReadonlySet<Waiting> | undefined
    if (limit < Number.POSITIVE_INFINITY) {
      const open = await this.open(sql)
      this.near = open + waiting.length + NEAR > limit
      if (this.near && !alone) return undefined
      if (open + waiting.length > limit) chosen = await this.choose(sql, waiting, open)
    }
    const fresh = chosen === undefined ? waiting : waiting.filter((one) => chosen.has(one))
    const inserted = fresh.length === 0 ? new Set<string>() : await this.insertAll(sql, fresh)
    const rest = waiting.filter((one) => !inserted.has(idOf(one)) || !fresh.includes(one))
    const known = rest.length === 0 ? new Map<string, DeadLetter>() : await this.known(sql, rest)
    const left = new Set(inserted)
    return waiting.map((one): Added => {
      // Of two with one id in one call the first is the one that was added.
      if ((chosen?.has(one) ?? true) && left.delete(idOf(one))) return { result: 'added', entry: one.entry }
      const same = known.get(keyOf(one)) ?? known.get(idOf(one))
      if (same === undefined) return { result: 'full' }
      const equal = samePayload(same.originalPayload, one.entry.originalPayload)
      return { result: equal ? 'known' : 'conflict', entry: same }
    })
  }

  private async open(sql: Sql): Promise<number> {
    const [row] = await sql.all<{ open: string }>(
      `SELECT coalesce(sum(entries), 0) AS open FROM ${this.database.table('dead_letter_counts')}
        WHERE status <> 'completed'`,
    )
    return Number(row?.open)
  }

  /** Those for whom there is room, where there is not enough for all: nobody else adds meanwhile. */
  private async choose(sql: Sql, waiting: readonly Waiting[], open: number): Promise<Set<Waiting>> {
    const seen = new Set((await this.known(sql, waiting)).keys())
    const chosen = new Set<Waiting>()
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

  /** Inserts those whose id and key nobody has. Tells their ids. */
  private async insertAll(sql: Sql, waiting: readonly Waiting[]): Promise<Set<string>> {
    const { database } = this
    const rows = await sql.all<{ id: string }>(
      `WITH added AS (
        INSERT INTO ${database.table('dead_letters')} (change, ${NAMES})
          SELECT $1, ${NAMES} FROM unnest(${ARRAYS.join(', ')}) WITH ORDINALITY AS given (${NAMES}, place)
          ORDER BY place ON CONFLICT DO NOTHING
          RETURNING id, dlq_id, operation, operation_type, status, last_attempt, replayed_at
      ), counted AS (
        ${counting(database, 'SELECT operation, operation_type, status, 1 AS n FROM added')}
      ), processed AS (
        INSERT INTO ${database.table('processed_ids')}
          SELECT id, dlq_id, coalesce(replayed_at, last_attempt) FROM added WHERE status = 'completed'
          ON CONFLICT DO NOTHING
      ) SELECT replace(id::text, '-', '') AS id FROM added`,
      randomUUID(),
      ...turned(
        waiting.map(({ row }) => row),
        Object.keys(COLUMNS).length,
      ),
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** What is there, by the hashes of its id and its key. */
  private async known(sql: Sql, waiting: readonly Waiting[]): Promise<Map<string, DeadLetter>> {
    const rows = await sql.all<DeadLetterRow & { hex: string; key: string }>(
      `SELECT *, replace(id::text, '-', '') AS hex, replace(key::text, '-', '') AS key
        FROM ${this.database.table('dead_letters')} WHERE id = ANY($1::uuid[]) OR key = ANY($2::uuid[])`,
      waiting.map(idOf),
      waiting.map(keyOf),
    )
    return new Map(
      rows.flatMap((row) => {
        const { entry } = heldOf(row)
        return [[row.hex, entry] as const, [row.key, entry] as const]
      }),
    )
  }

  private async isThere(sql: Sql, waiting: readonly Waiting[], done: Added[] | undefined): Promise<boolean> {
    const first = waiting.find((_, i) => done?.[i]?.result === 'added')
    if (first === undefined) return false
    const table = this.database.table('dead_letters')
    return (await sql.all(`SELECT 1 FROM ${table} WHERE id = $1`, idOf(first))).length > 0
  }
}
