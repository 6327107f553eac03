import { DAY_MS } from '@holdfast/records'
import type { PostgresDatabase } from './database.js'
import { LOCKS } from './locks.js'
import type { SqlTransaction } from './sql.js'
import { partitionStatements } from './statements/journal.js'

/** A partition with records at or after `from` and before `to`. */
interface Partition {
  name: string
  from: number
  to: number
}

/** The partitions of a journal's table by time. The caller of a method that changes them holds the lock of the journal. */
export class Partitions {
  private readonly database: PostgresDatabase
  private readonly parent: keyof typeof LOCKS
  private readonly statements: ReturnType<typeof partitionStatements>
  private readonly widthMs: number
  /** Numbers of the partitions that existed at the last check. */
  private readonly knownNumbers = new Set<number>()

  constructor(database: PostgresDatabase, parent: keyof typeof LOCKS, days: number) {
    this.database = database
    this.parent = parent
    this.statements = partitionStatements(database.table, parent)
    this.widthMs = days * DAY_MS
  }

  get lock(): string {
    return this.database.lockStatement(LOCKS[this.parent])
  }

  /** Creates the missing partitions for records with these times. */
  async createFor(times: readonly number[]): Promise<void> {
    const needed = [...new Set(times.map((time) => Math.floor(time / this.widthMs)))]
    if (needed.every((number) => this.knownNumbers.has(number))) return
    const findMissing = async (sql: SqlTransaction) => {
      const existing = new Set((await this.list(sql)).map(({ from }) => from / this.widthMs))
      return needed.filter((number) => !existing.has(number))
    }
    // Checked with a read first, because every append waits for the lock.
    if ((await this.database.read(findMissing)).length > 0)
      await this.database.write(
        async (sql) => {
          for (const number of await findMissing(sql)) await this.createPartition(sql, number)
        },
        { lock: this.lock },
      )
    for (const number of needed) this.knownNumbers.add(number)
  }

  /** Clears the known partitions, after another process has dropped one. */
  clearCache(): void {
    this.knownNumbers.clear()
  }

  private async createPartition(sql: SqlTransaction, number: number): Promise<void> {
    const name = this.database.table(`${this.parent}_${number < 0 ? `before_${-number}` : number}`)
    await sql.run(this.statements.create(name))
    await sql.run(this.statements.attach(name, number * this.widthMs, (number + 1) * this.widthMs))
  }

  async list(sql: SqlTransaction): Promise<Partition[]> {
    const rows = await sql.all<{ name: string }>(
      this.statements.selectNames,
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
   * Deletes records older than a time, or with a number below `keep`. A partition with only such records is dropped, which takes
   * the same time for any number of records.
   */
  async expire(
    sql: SqlTransaction,
    limits: { before?: number | undefined; keep?: string | undefined },
  ): Promise<number> {
    const { before = Number.NEGATIVE_INFINITY, keep } = limits
    let deleted = 0
    for (const { name, from, to } of await this.list(sql)) {
      const isExpired = before >= to
      if (!isExpired && keep === undefined && before <= from) continue
      const [{ rows, last } = { rows: '0', last: null }] = await sql.all<{
        rows: string
        last: string | null
      }>(this.statements.count(name))
      if (isExpired || (keep !== undefined && (last === null || BigInt(last) < BigInt(keep)))) {
        // The parent is locked first, in the same order as by readers, so that there is no deadlock.
        await sql.run(this.statements.lockParent)
        await sql.run(this.statements.drop(name))
        deleted += Number(rows)
        this.knownNumbers.delete(from / this.widthMs)
      } else if (keep !== undefined) deleted += await sql.run(this.statements.deleteBefore(name, 'seq'), keep)
      else deleted += await sql.run(this.statements.deleteBefore(name, 'time'), before)
    }
    return deleted
  }
}
