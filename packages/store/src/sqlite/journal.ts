import type { CamelCased, sessionSchema } from '@holdfast/records'
import type { z } from 'zod'
import { encodeCursor, parsePaging } from '../cursor.js'
import { matchesFilter } from '../filters.js'
import type { Journal, Page, SessionFilter, SessionJournal, TimeRangeFilter } from '../journals.js'
import { parseOrUndefined } from '../readable-rows.js'
import { toColumn } from '../text.js'
import type { JournalTable } from './journal-tables.js'
import { compressOldRows, expireRecords, SCAN_SIZE } from './retention.js'
import {
  type EncodedRow,
  findRow,
  insertSessionIds,
  type JournalRow,
  MAX_ROW_RECORDS,
  recordsOf,
  reviveRecord,
  writeRows,
} from './rows.js'
import {
  countRecords,
  SELECT_SESSION_SEQ,
  type SqlCondition,
  selectBounds,
  selectRows,
} from './statements/journal.js'
import { releaseFreePages } from './vacuum.js'
import type { WriteQueue } from './write-queue.js'

/** How many rows are counted before the event loop gets a turn. */
const ROWS_PER_COUNT = 2000

/** How many records are read before the event loop gets a turn. A row has between one and {@link MAX_ROW_RECORDS}. */
const RECORDS_PER_READ = 200

/** The records of one journal, in the order of insertion. Arguments and results are plain data. */
export class SqliteJournal<S extends z.ZodType, F extends TimeRangeFilter>
  implements Omit<Journal<CamelCased<S>, F>, 'append'>
{
  protected readonly writes: WriteQueue
  protected readonly table: JournalTable<S, F>
  /** Whether records must survive a crash of the machine, not only of the process. */
  private readonly isDurable: boolean

  constructor(writes: WriteQueue, table: JournalTable<S, F>, isDurable = false) {
    this.writes = writes
    this.table = table
    this.isDurable = isDurable
  }

  /** Inserts serialized rows. */
  insert(rows: readonly EncodedRow[]): Promise<void> {
    return this.commit(() => void writeRows(this.writes.sql, this.table, rows))
  }

  protected commit(work: () => void): Promise<void> {
    return this.isDurable ? this.writes.write(work) : this.writes.writeUnflushed(work)
  }

  async list(filter?: F): Promise<Page<CamelCased<S>>> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'newest', [0])
    const conditions = this.toConditions(filter)
    const items: CamelCased<S>[] = []
    const numbers: number[] = []
    for (let edge = after?.[0] as number | undefined; ; ) {
      const want = Math.min(RECORDS_PER_READ, limit + 1 - items.length)
      const part = await this.writes.read(() => this.readPart(conditions, filter, isNewestFirst, edge, want))
      for (const [seq, record] of part.found) {
        numbers.push(seq)
        items.push(record)
      }
      if (items.length > limit) {
        items.length = limit
        return { items, cursor: encodeCursor(isNewestFirst, [numbers[limit - 1] as number]) }
      }
      if (part.edge === undefined) return { items }
      edge = part.edge
      await this.writes.nextTurn()
    }
  }

  private toConditions(filter: F | undefined): SqlCondition[] {
    if (filter === undefined) return []
    const { from, to } = filter
    return [
      ...(from === undefined ? [] : [['newest >= ?', from.getTime()] as const]),
      ...(to === undefined ? [] : [['oldest < ?', to.getTime()] as const]),
      ...this.table.conditions(filter),
    ]
  }

  /** The records of a row in their wire form; none if it is damaged. */
  protected recordsOf(row: JournalRow): unknown[] {
    return this.parse(row, () => recordsOf(row)) ?? []
  }

  /** Parses a part of a row; undefined if it is damaged. */
  protected parse<R>(row: JournalRow, parse: () => R): R | undefined {
    const parsed = parseOrUndefined(row, parse)
    if (parsed === undefined) this.writes.unreadableRows.report(this.table.table, row.last)
    return parsed
  }

  /** Scans a range of records after an edge. Returns the matching ones, and the edge to continue from if there are more. */
  private readPart(
    conditions: readonly SqlCondition[],
    filter: F | undefined,
    isNewestFirst: boolean,
    edge: number | undefined,
    want: number,
  ): { found: [number, CamelCased<S>][]; edge: number | undefined } {
    const { sql } = this.writes
    const { table, recordFilter } = this.table
    const found: [number, CamelCased<S>][] = []
    const bounds = sql.get(selectBounds(table)) as { lowest: number | null; highest: number }
    if (bounds.lowest === null) return { found, edge: undefined }
    const [low, high] = [Math.max(1, bounds.lowest - MAX_ROW_RECORDS + 1), bounds.highest]
    const from = isNewestFirst
      ? Math.max(low, Math.min(edge ?? high + 1, high + 1) - SCAN_SIZE)
      : Math.max(low, (edge ?? 0) + 1)
    const to = isNewestFirst ? Math.min(edge ?? high + 1, high + 1) : Math.min(high + 1, from + SCAN_SIZE)
    const select = <R>(columns: 'first, last' | 'first, last, body', limit: number) =>
      sql.all<R>(
        selectRows(table, columns, conditions, isNewestFirst),
        from,
        to + MAX_ROW_RECORDS,
        to,
        ...conditions.flatMap(([, ...values]) => values),
        limit,
      )
    const sizes = select<Omit<JournalRow, 'body'>>('first, last', RECORDS_PER_READ)
    const rowCount = countRowsToRead(sizes)
    const rows = select<JournalRow>('first, last, body', rowCount)
    for (const row of rows) {
      const records = this.recordsOf(row)
      for (let i = 0; i < records.length; i++) {
        const index = isNewestFirst ? records.length - 1 - i : i
        const seq = row.first + index
        if (seq < from || seq >= to || records[index] === null) continue
        const parsed = this.parse(row, () => {
          const { record } = reviveRecord(this.table, records[index])
          return { record, isMatch: filter === undefined || matchesFilter(recordFilter, record, filter) }
        })
        if (parsed?.isMatch !== true) continue
        found.push([seq, parsed.record])
        if (found.length === want) return { found, edge: seq }
      }
    }
    const hasMoreRows = rowCount < sizes.length || sizes.length === RECORDS_PER_READ
    const last = hasMoreRows ? rows.at(-1) : undefined
    if (last !== undefined)
      return { found, edge: isNewestFirst ? Math.max(last.first, from) : Math.min(last.last, to - 1) }
    const isEnd = isNewestFirst ? from <= low : to > high
    return { found, edge: isEnd ? undefined : isNewestFirst ? from : to - 1 }
  }

  async expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    const deleted = await expireRecords(this.writes, this.table, limits)
    await compressOldRows(this.writes, this.table)
    await releaseFreePages(this.writes)
    return deleted
  }

  async count(): Promise<number> {
    const { table } = this.table
    let sum = 0
    for (let from: number | undefined = 0; from !== undefined; ) {
      const at: number = from
      const part = await this.writes.read(
        () =>
          this.writes.sql.get(countRecords(table, ROWS_PER_COUNT), at) as {
            n: number | null
            last: number | null
          },
      )
      sum += part.n ?? 0
      from = part.last ?? undefined
      if (from !== undefined) await this.writes.nextTurn()
    }
    return sum
  }
}

/** How many of the rows have about {@link RECORDS_PER_READ} records together; at least one. */
function countRowsToRead(rows: readonly Omit<JournalRow, 'body'>[]): number {
  let records = 0
  const index = rows.findIndex(({ first, last }) => (records += last - first + 1) >= RECORDS_PER_READ)
  return index === -1 ? rows.length : index + 1
}

/** A journal of sessions, which can also be read by id. */
export class SqliteSessions
  extends SqliteJournal<typeof sessionSchema, SessionFilter>
  implements Omit<SessionJournal, 'append'>
{
  /** Inserts serialized rows and the ids of their sessions. */
  override insert(rows: readonly EncodedRow[], ids: readonly string[] = []): Promise<void> {
    return this.commit(() => {
      const { sql } = this.writes
      insertSessionIds(sql, ids, writeRows(sql, this.table, rows))
    })
  }

  get(id: string): Promise<CamelCased<typeof sessionSchema> | undefined> {
    return this.writes.read(() => {
      const { sql } = this.writes
      const { seq } = sql.get<{ seq: number }>(SELECT_SESSION_SEQ, toColumn(id)) ?? {}
      const row = seq == null ? undefined : findRow(sql, 'sessions', seq)
      if (row === undefined) return undefined
      const wire = this.recordsOf(row)[(seq as number) - row.first]
      return wire == null ? undefined : this.parse(row, () => reviveRecord(this.table, wire).record)
    })
  }
}
