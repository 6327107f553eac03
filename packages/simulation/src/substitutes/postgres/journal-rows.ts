import { PostgresError } from './postgres-error.js'

interface JournalRow {
  readonly seq: number
  readonly time: number
  /** The only other column by which the store finds a record without a filter of its own. */
  readonly sessionId: unknown
  readonly body: string
}

/** The records of a partition are at or after `from` and before `to`. */
interface Partition {
  from: number
  to: number
}

/** A deletion of the running transaction. */
interface PreparedDeletion {
  /** The number of rows. */
  readonly count: number
  /** Makes the deletion, and returns a function that restores the rows. */
  apply(): () => void
}

type Row = Record<string, unknown>

/** A number in a condition such as `seq < $1`. Conditions on other columns only reduce the rows; the store applies its filter again. */
const CONDITION = /^(seq|time) (<|>|>=) \$(\d+)$/

const matchesCondition = (row: JournalRow, condition: string, values: readonly unknown[]): boolean => {
  const [, column, operator, number] = CONDITION.exec(condition) ?? []
  if (column === undefined) return true
  const [value, limit] = [row[column as 'seq' | 'time'], Number(values[Number(number) - 1])]
  if (operator === '<') return value < limit
  return operator === '>' ? value > limit : value >= limit
}

/** The rows and partitions of one journal, in the order of insertion. */
export class JournalRows {
  private rows: JournalRow[] = []
  private nextSeq = 1
  private readonly partitions = new Map<string, Partition>()

  /**
   * Checks an insert, and returns the function that makes it. That one returns a function that removes the rows again.
   *
   * @throws PostgresError if a record has no partition
   */
  prepareInsert(columnNames: readonly string[], values: readonly unknown[]): () => () => void {
    const [times, ...rest] = values as (readonly unknown[])[]
    const bodies = rest.at(-1) as readonly string[]
    const sessionIds = rest[columnNames.indexOf('session_id')]
    for (const time of times as number[]) this.requirePartition(time)
    return () => {
      const first = this.nextSeq
      for (const [i, body] of bodies.entries()) {
        this.rows.push({ seq: this.nextSeq++, time: Number(times?.[i]), sessionId: sessionIds?.[i], body })
      }
      const end = this.nextSeq
      return () => {
        this.rows = this.rows.filter(({ seq }) => seq < first || seq >= end)
      }
    }
  }

  countAmongLatest(limit: number, bodies: readonly string[]): Row[] {
    const wanted = new Set(bodies)
    const found = this.rows.filter(({ seq, body }) => wanted.has(body) && seq >= this.nextSeq - limit)
    return [{ n: String(new Set(found.map(({ body }) => body)).size) }]
  }

  select(
    conditions: readonly string[],
    isNewestFirst: boolean,
    limit: number,
    values: readonly unknown[],
  ): Row[] {
    const found = this.rows.filter((row) => conditions.every((each) => matchesCondition(row, each, values)))
    return (isNewestFirst ? found.reverse() : found)
      .slice(0, limit)
      .map(({ seq, body }) => ({ seq: String(seq), body }))
  }

  selectOldestKept(maxEntries: number): Row[] {
    const row = this.rows.at(-1 - maxEntries)
    return row === undefined ? [] : [{ seq: String(row.seq + 1) }]
  }

  count(): Row[] {
    return [{ n: String(this.rows.length) }]
  }

  selectSession(id: unknown): Row[] {
    const row = this.rows.findLast(({ sessionId }) => sessionId === id)
    return row === undefined ? [] : [{ seq: String(row.seq), body: row.body }]
  }

  /** Checks the name of a partition, which exists as soon as it is attached. */
  createPartition(name: string): void {
    if (this.partitions.has(name)) throw new PostgresError(['42P07', `relation ${name} already exists`])
  }

  attachPartition(name: string, from: number, to: number): void {
    this.partitions.set(name, { from, to })
  }

  /** The names without the schema. */
  selectPartitions(): Row[] {
    return [...this.partitions.keys()].map((name) => ({ name: /"([^"]+)"$/.exec(name)?.[1] }))
  }

  countPartition(name: string): Row[] {
    const rows = this.rowsOf(this.partition(name))
    return [{ rows: String(rows.length), last: rows.length === 0 ? null : String(rows.at(-1)?.seq) }]
  }

  /** Drops a partition when the transaction is committed. */
  prepareDrop(name: string): PreparedDeletion {
    const partition = this.partition(name)
    const deletion = this.prepareDeletion((row) => isIn(row, partition))
    return {
      ...deletion,
      apply: () => {
        this.partitions.delete(name)
        const revert = deletion.apply()
        return () => {
          this.partitions.set(name, partition)
          revert()
        }
      },
    }
  }

  /** Deletes the first rows of a partition when the transaction is committed. */
  prepareDeleteBefore(name: string, column: 'seq' | 'time', limit: unknown): PreparedDeletion {
    const partition = this.partition(name)
    return this.prepareDeletion((row) => isIn(row, partition) && row[column] < Number(limit))
  }

  private prepareDeletion(isDeleted: (row: JournalRow) => boolean): PreparedDeletion {
    return {
      count: this.rows.filter(isDeleted).length,
      apply: () => {
        const deleted = this.rows.filter(isDeleted)
        this.rows = this.rows.filter((row) => !isDeleted(row))
        return () => {
          this.rows = [...deleted, ...this.rows].toSorted((first, second) => first.seq - second.seq)
        }
      },
    }
  }

  private rowsOf(partition: Partition): JournalRow[] {
    return this.rows.filter((row) => isIn(row, partition))
  }

  private partition(name: string): Partition {
    const found = this.partitions.get(name)
    if (found === undefined) throw new PostgresError(['42P01', `relation ${name} does not exist`])
    return found
  }

  private requirePartition(time: number): void {
    for (const { from, to } of this.partitions.values()) if (time >= from && time < to) return
    throw new PostgresError(['23514', 'no partition of relation found for row'])
  }
}

const isIn = ({ time }: JournalRow, { from, to }: Partition): boolean => time >= from && time < to
