import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '../../records/dead-letter.js'
import type { Database, Sql } from './database.js'
import { counting } from './dead-letter-counts.js'
import { CHANGING, changing, type DeadLetterRow, type Held, heldOf, turned } from './dead-letter-rows.js'
import { Gather } from './gather.js'
import { hashed } from './names.js'

/** What becomes of an entry. Without an `entry` it stays as it is. */
export interface Change<R> {
  result: R
  entry?: DeadLetter
  owner?: string | null
}

interface Asked {
  id: string
  decide(held: Held | undefined): Change<unknown>
}

/** How many changes one transaction makes. */
const TOGETHER = 256

const NAMES = Object.keys(CHANGING)
/** Details that did not change are not sent. */
const SET = NAMES.map(
  (name) =>
    `${name} = ${name === 'error_details' ? `coalesce(given.${name}, stored.${name})` : `given.${name}`}`,
).join(', ')
const ARRAYS = Object.values(CHANGING).map((type, i) => `$${i + 4}::${type}[]`)

/** Changes single entries. Whatever is asked for within a turn, or while others are served, goes into one transaction. */
export class DeadLetterChanges {
  private readonly database: Database
  private readonly gather: Gather<Asked, unknown>
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
    const [result] = await this.gather.put([{ id, decide }])
    return result as R
  }

  private async work(asked: readonly Asked[]): Promise<unknown[]> {
    const token = randomUUID()
    const done = await this.database.write((sql) => this.apply(sql, asked, token), {
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

  private async apply(sql: Sql, asked: readonly Asked[], token: string) {
    const { database } = this
    const table = database.table('dead_letters')
    // In one order, so that two who change the same entries do not wait for each other in a circle.
    const rows = await sql.all<DeadLetterRow>(
      `SELECT * FROM ${table} WHERE id = ANY($1::uuid[]) ORDER BY seq FOR UPDATE`,
      [...new Set(asked.map(({ id }) => hashed(id)))],
    )
    const there = new Map(
      rows.map((row) => {
        const held = heldOf(row)
        return [held.entry.dlqId, held]
      }),
    )
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
          FROM unnest($2::bigint[], $3::text[], ${ARRAYS.join(', ')}) AS given (seq, was, ${NAMES.join(', ')})
          WHERE stored.seq = given.seq
          RETURNING id, dlq_id, operation, operation_type, was, stored.status, stored.replayed_at, stored.last_attempt
      ), counted AS (
        ${counting(
          database,
          `SELECT operation, operation_type, was AS status, -1 AS n FROM changed
            UNION ALL SELECT operation, operation_type, status, 1 FROM changed`,
        )}
      ) INSERT INTO ${database.table('processed_ids')}
        SELECT id, dlq_id, coalesce(replayed_at, last_attempt) FROM changed WHERE status = 'completed'
        ON CONFLICT DO NOTHING`,
      token,
      changed.map(({ seq }) => seq),
      old.map(({ status }) => status),
      ...turned(
        changed.map(({ entry, owner }, i) => changing(entry, owner, old[i])),
        NAMES.length,
      ),
    )
  }
}
