import { randomUUID } from 'node:crypto'
import type { DeadLetter } from '../../records/dead-letter.js'
import { toColumn } from '../sqlite/text.js'
import type { Database, Sql } from './database.js'
import { Tally } from './dead-letter-counts.js'
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
const SET = NAMES.map((name) => `${name} = given.${name}`).join(', ')
const ARRAYS = Object.values(CHANGING).map((type, i) => `$${i + 3}::${type}[]`)

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
    if (changed.length > 0) await this.replace(sql, changed, before, token)
    if (requests) await this.notify(sql)
    return { results, first: changed[0]?.seq }
  }

  private async replace(
    sql: Sql,
    changed: readonly Held[],
    before: ReadonlyMap<string, Held>,
    token: string,
  ) {
    const { database } = this
    await sql.run(
      `UPDATE ${database.table('dead_letters')} AS stored SET change = $1, ${SET}
        FROM unnest($2::bigint[], ${ARRAYS.join(', ')}) AS given (seq, ${NAMES.join(', ')})
        WHERE stored.seq = given.seq`,
      token,
      changed.map(({ seq }) => seq),
      ...turned(
        changed.map(({ entry, owner }) => changing(entry, owner)),
        NAMES.length,
      ),
    )
    const tally = new Tally()
    const completed: DeadLetter[] = []
    for (const { entry } of changed) {
      const { status } = (before.get(entry.dlqId) as Held).entry
      tally.add(entry.operationType, status, -1)
      tally.add(entry.operationType, entry.status, 1)
      if (entry.status === 'completed') completed.push(entry)
    }
    if (completed.length > 0)
      await sql.run(
        `INSERT INTO ${database.table('processed_ids')}
          SELECT * FROM unnest($1::uuid[], $2::text[], $3::bigint[]) ON CONFLICT DO NOTHING`,
        completed.map(({ dlqId }) => hashed(dlqId)),
        completed.map(({ dlqId }) => toColumn(dlqId)),
        completed.map(({ replayedAt, lastAttempt }) => (replayedAt ?? lastAttempt).getTime()),
      )
    await tally.write(database, sql)
  }
}
