import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '../../records/dead-letter.js'
import type { Database } from './database.js'
import { counting } from './dead-letter-counts.js'
import { CHANGING, changing, type DeadLetterRow, type Held, heldOf, turned } from './dead-letter-rows.js'
import { sqlState } from './failure.js'
import { Gather } from './gather.js'
import { hashed } from './names.js'
import type { Sql } from './sql.js'

/** What becomes of an entry. Without an `entry` it stays as it is. */
export interface Change<R> {
  result: R
  entry?: DeadLetter
  owner?: string | null
}

interface Asked {
  id: string
  decide(held: Held | undefined): Change<unknown>
  /** The entry as this process leased it, which is how it still is unless somebody has changed it since. */
  known?: Held | undefined
}

/** How many changes one transaction makes. */
const TOGETHER = 256

/** How many leases are remembered: whoever takes more than that at a time reads them again. */
const REMEMBERED = 1000

const NAMES = Object.keys(CHANGING)
/** Details that did not change are not sent. */
const SET = NAMES.map(
  (name) =>
    `${name} = ${name === 'error_details' ? `coalesce(given.${name}, stored.${name})` : `given.${name}`}`,
).join(', ')
const ARRAYS = Object.values(CHANGING).map((type, i) => `$${i + 5}::${type}[]`)

/** Changes single entries. Whatever is asked for within a turn, or while others are served, goes into one transaction. */
export class DeadLetterChanges {
  private readonly database: Database
  private readonly gather: Gather<Asked, unknown>
  /** What this process has leased and not settled, oldest first. */
  private readonly leased = new Map<string, Held>()
  /** Told after a transaction that left requests to replay. */
  private readonly notify: (sql: Sql) => Promise<void>

  constructor(database: Database, notify: (sql: Sql) => Promise<void>) {
    this.database = database
    this.notify = notify
    this.gather = new Gather((asked) => this.work(asked), { most: TOGETHER, lanes: 2 })
  }

  idle(): Promise<void> {
    return this.gather.idle()
  }

  /** Decides by what is stored, which nobody else changes meanwhile. It may be asked again. */
  async change<R>(id: string, decide: (held: Held | undefined) => Change<R>): Promise<R> {
    this.leased.delete(id)
    const [result] = await this.gather.put([{ id, decide }])
    return result as R
  }

  /** The same for the end of a lease: one that is remembered need not be read again. */
  async end<R>(id: string, decide: (held: Held | undefined) => Change<R>): Promise<R> {
    const known = this.leased.get(id)
    this.leased.delete(id)
    const [result] = await this.gather.put([{ id, decide, known }])
    return result as R
  }

  /** Entries that were just leased. */
  remember(leased: readonly Held[]): void {
    for (const held of leased) this.leased.set(held.entry.dlqId, held)
    for (const id of this.leased.keys()) {
      if (this.leased.size <= REMEMBERED) return
      this.leased.delete(id)
    }
  }

  private async work(asked: readonly Asked[]): Promise<unknown[]> {
    // In the order in which they would be read, and locked.
    const known = asked.flatMap((each) => each.known ?? []).sort((a, b) => Number(a.seq) - Number(b.seq))
    if (known.length === asked.length) {
      try {
        return await this.commit(asked, async () => known)
      } catch (error) {
        if (!isOvertaken(error)) throw error
      }
    }
    return this.commit(asked, (sql) => this.read(sql, asked))
  }

  private async commit(
    asked: readonly Asked[],
    read: (sql: Sql) => Promise<readonly Held[]>,
  ): Promise<unknown[]> {
    const token = randomUUID()
    const done = await this.database.write(async (sql) => this.apply(sql, asked, await read(sql), token), {
      proof: async (sql, { first }) =>
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

  /** Reads entries that nobody else changes from then on. */
  private async read(sql: Sql, asked: readonly Asked[]): Promise<Held[]> {
    // In one order, so that two who change the same entries do not wait for each other in a circle.
    const rows = await sql.all<DeadLetterRow>(
      `SELECT * FROM ${this.database.table('dead_letters')} WHERE id = ANY($1::uuid[]) ORDER BY seq FOR UPDATE`,
      [...new Set(asked.map(({ id }) => hashed(id)))],
    )
    return rows.map(heldOf)
  }

  private async apply(sql: Sql, asked: readonly Asked[], read: readonly Held[], token: string) {
    const there = new Map(read.map((held) => [held.entry.dlqId, held]))
    const before = new Map(there)
    let requests = false
    const results = asked.map(({ id, decide }) => {
      const held = there.get(id)
      const { result, entry, owner = null } = decide(held)
      if (held !== undefined && entry !== undefined) {
        requests ||= entry.replayRequestedAt != null && held.entry.replayRequestedAt == null
        there.set(id, { ...held, entry, owner })
      }
      return result
    })
    const changed = [...there.values()].filter((held) => before.get(held.entry.dlqId) !== held)
    if (requests) await this.notify(sql)
    const done = { results, first: changed[0]?.seq }
    return changed.length === 0 ? done : this.replace(sql, changed, before, token, done)
  }

  /** Changes all of them or, where one is not any more as it was, none: the division fails. */
  private replace<T>(
    sql: Sql,
    changed: readonly Held[],
    before: ReadonlyMap<string, Held>,
    token: string,
    done: T,
  ): Promise<T> {
    const { database } = this
    const old = changed.map(({ entry }) => (before.get(entry.dlqId) as Held).entry)
    return sql.finish(
      done,
      `WITH changed AS (
        UPDATE ${database.table('dead_letters')} AS stored SET change = $1, ${SET}
          FROM unnest($2::bigint[], $3::text[], $4::uuid[], ${ARRAYS.join(', ')})
            AS given (seq, was, known, ${NAMES.join(', ')})
          WHERE stored.seq = given.seq AND stored.change = given.known
          RETURNING id, dlq_id, operation, operation_type, was, stored.status, stored.replayed_at, stored.last_attempt
      ), counted AS (
        ${counting(
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
      ...turned(
        changed.map(({ entry, owner }, i) => changing(entry, owner, old[i])),
        NAMES.length,
      ),
    )
  }
}

/** Whether somebody else has changed what was remembered. */
const isOvertaken = (error: unknown): boolean => sqlState((error as Error).cause) === DIVISION_BY_ZERO

const DIVISION_BY_ZERO = '22012'
