import { DAY_MS } from '@holdfast/records'
import type { PostgresDatabase } from './database.js'
import { LOCKS } from './locks.js'
import type { SqlTransaction } from './sql.js'

/** A partition, and the times it holds: at or after `from`, before `to`. */
interface Partition {
  name: string
  from: number
  to: number
}

/** The stretches of time that a journal's table is made of. Whoever changes them holds the journal's lock. */
export class Partitions {
  private readonly database: PostgresDatabase
  private readonly parent: keyof typeof LOCKS
  private readonly widthMs: number
  /** Numbers of those that were there when last seen. */
  private readonly knownNumbers = new Set<number>()

  constructor(database: PostgresDatabase, parent: keyof typeof LOCKS, days: number) {
    this.database = database
    this.parent = parent
    this.widthMs = days * DAY_MS
  }

  get lock(): string {
    return this.database.lockStatement(LOCKS[this.parent])
  }

  /** Makes those that the times need and that are not there. */
  async createFor(times: readonly number[]): Promise<void> {
    const wanted = [...new Set(times.map((time) => Math.floor(time / this.widthMs)))]
    if (wanted.every((number) => this.knownNumbers.has(number))) return
    const missing = async (sql: SqlTransaction) => {
      const there = new Set((await this.list(sql)).map(({ from }) => from / this.widthMs))
      return wanted.filter((number) => !there.has(number))
    }
    // Of many processes that start together only those take the lock, which all who append wait for, that find one missing.
    if ((await this.database.read(missing)).length > 0)
      await this.database.write(
        async (sql) => {
          for (const number of await missing(sql)) await this.createPartition(sql, number)
        },
        { lock: this.lock },
      )
    for (const number of wanted) this.knownNumbers.add(number)
  }

  /** Forgets what was known, after somebody dropped one. */
  clearCache(): void {
    this.knownNumbers.clear()
  }

  private async createPartition(sql: SqlTransaction, number: number): Promise<void> {
    const parent = this.database.table(this.parent)
    const name = this.database.table(`${this.parent}_${number < 0 ? `before_${-number}` : number}`)
    // Attached and not created in place: those who write elsewhere in the journal go on meanwhile.
    await sql.run(`CREATE TABLE ${name} (LIKE ${parent} INCLUDING DEFAULTS)`)
    await sql.run(
      `ALTER TABLE ${parent} ATTACH PARTITION ${name}
        FOR VALUES FROM (${number * this.widthMs}) TO (${(number + 1) * this.widthMs})`,
    )
  }

  async list(sql: SqlTransaction): Promise<Partition[]> {
    const rows = await sql.all<{ name: string }>(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = $1::regclass`,
      this.database.table(this.parent),
    )
    return rows
      .map(({ name }) => {
        const [, before, digits] = /_(before_)?(\d+)$/.exec(name) as unknown as [
          string,
          string | undefined,
          string,
        ]
        const number = before === undefined ? Number(digits) : -Number(digits)
        return {
          name: this.database.table(name),
          from: number * this.widthMs,
          to: (number + 1) * this.widthMs,
        }
      })
      .sort((a, b) => a.from - b.from)
  }

  /**
   * Lets go of records older than a time, or numbered below one. A partition that holds nothing else goes as a whole,
   * which costs the same however much it holds.
   */
  async expire(
    sql: SqlTransaction,
    limits: { before?: number | undefined; keep?: string | undefined },
  ): Promise<number> {
    const { before = Number.NEGATIVE_INFINITY, keep } = limits
    let gone = 0
    for (const { name, from, to } of await this.list(sql)) {
      const old = before >= to
      if (!old && keep === undefined && before <= from) continue
      const [{ rows, last } = { rows: '0', last: null }] = await sql.all<{
        rows: string
        last: string | null
      }>(`SELECT count(*) AS rows, max(seq) AS last FROM ${name}`)
      if (old || (keep !== undefined && (last === null || BigInt(last) < BigInt(keep)))) {
        // Its parent first, in the order in which those who read lock them.
        await sql.run(`LOCK TABLE ONLY ${this.database.table(this.parent)} IN ACCESS EXCLUSIVE MODE`)
        await sql.run(`DROP TABLE ${name}`)
        gone += Number(rows)
        this.knownNumbers.delete(from / this.widthMs)
      } else if (keep !== undefined) gone += await sql.run(`DELETE FROM ${name} WHERE seq < $1`, keep)
      else gone += await sql.run(`DELETE FROM ${name} WHERE time < $1`, before)
    }
    return gone
  }
}
