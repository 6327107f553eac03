import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type CamelCased, expandDeltas } from '@holdfast/records'
import type { z } from 'zod'
import { parseOrUndefined } from '../readable-rows.js'
import { toColumn } from '../text.js'
import type { SqliteConnection } from './connection.js'
import type { JournalTable } from './journal-tables.js'
import {
  DELETE_SESSION_ID,
  DELETE_SESSION_IDS,
  DELETE_SESSION_IDS_OF_ROW,
  deleteRow,
  insertRow,
  insertSessionIdRows,
  SELECT_NEWEST_SEQ,
  SELECT_SESSION_IDS,
  selectRowFrom,
  updateRow,
} from './statements/journal.js'
import type { SqliteValue } from './statements/parameters.js'

// oxlint-disable-next-line no-explicit-any -- the type of the records is not used here
export type AnyJournalTable = JournalTable<any, any>

/** A row of a journal: the records numbered `first` to `last`. */
export interface JournalRow {
  first: number
  last: number
  body: string | Uint8Array
}

/** The largest number of records in an uncompressed row. */
const MAX_RECORDS_PER_ROW = 64

/** How many texts are collected before they are joined. */
const MAX_UNJOINED_TEXTS = 8

/** At least how many records are compressed together. */
export const COMPRESSED_CHUNK_SIZE = 256

/** The largest number of records in any row. */
export const MAX_ROW_RECORDS = COMPRESSED_CHUNK_SIZE + MAX_RECORDS_PER_ROW

/** How many ids one statement inserts, because a statement costs more than a row. */
const IDS_PER_INSERT = 16

/** A serialized row without the numbers of its records, which are known when it is inserted. */
export interface EncodedRow {
  readonly entries: number
  readonly values: readonly SqliteValue[]
}

/** Records that become one row. Each is serialized when it is added, and only its text is kept. */
export class RowDraft<S extends z.ZodType> {
  private readonly table: JournalTable<S, never>
  private readonly write: (record: CamelCased<S>) => string
  private texts: string[] = []
  private readonly sets: Set<string>[]
  private oldest = Number.POSITIVE_INFINITY
  private newest = Number.NEGATIVE_INFINITY
  private greatest = ''
  /** The values of a full row. */
  private finishedValues: SqliteValue[] | undefined = undefined
  entries = 0
  /** Whether no more records can be added. */
  isFull = false

  constructor(journal: JournalTable<S, never>) {
    this.table = journal
    this.write = journal.text.deltaWriter()
    this.sets = journal.columns.map(() => new Set())
  }

  add(record: CamelCased<S>): void {
    const { recordFilter, greatest } = this.table
    // All that can fail comes before the text is added. More values than those of the records in the row are allowed.
    const time = recordFilter.timeOf(record).getTime()
    const value = greatest?.of(record) ?? ''
    this.table.addValues(record, this.sets)
    try {
      this.texts.push(this.write(record))
    } catch (error) {
      // The delta writer may have recorded fields of the failed record, so that the next delta would be wrong.
      this.isFull = true
      throw error
    }
    // Joined texts are fewer objects for the garbage collector.
    if (this.texts.length === MAX_UNJOINED_TEXTS) this.texts = [this.texts.join(',')]
    if (time < this.oldest) this.oldest = time
    if (time > this.newest) this.newest = time
    if (value > this.greatest) this.greatest = value
    if (++this.entries < MAX_RECORDS_PER_ROW) return
    this.isFull = true
    this.finishedValues = this.createValues()
  }

  encode(): EncodedRow {
    return { entries: this.entries, values: this.finishedValues ?? this.createValues() }
  }

  private createValues(): SqliteValue[] {
    const { greatest } = this.table
    return [
      this.oldest,
      this.newest,
      ...(greatest === undefined ? [] : [this.greatest]),
      ...this.sets.map((set) => JSON.stringify([...set])),
      `[[${this.texts.join(',')}]]`,
    ]
  }
}

/** Inserts rows and returns the number of the first record. */
export function writeRows(
  sql: SqliteConnection,
  { table, columns, greatest }: AnyJournalTable,
  rows: readonly EncodedRow[],
): number {
  const start = (sql.get<{ seq: number }>(SELECT_NEWEST_SEQ, table)?.seq ?? 0) + 1
  const statement = sql.statement(insertRow(table, 6 + (greatest ? 1 : 0) + columns.length))
  let first = start
  for (const { entries, values } of rows) {
    statement.run([first + entries - 1, first, entries, ...values])
    first += entries
  }
  return start
}

/** Inserts the ids of sessions whose record numbers begin at `first`. */
export function insertSessionIds(sql: SqliteConnection, sessionIds: readonly string[], first: number): void {
  const ids = sessionIds.map(toColumn)
  const many = sql.statement(insertSessionIdRows(IDS_PER_INSERT))
  const one = sql.statement(insertSessionIdRows(1))
  let at = 0
  for (; at + IDS_PER_INSERT <= ids.length; at += IDS_PER_INSERT)
    many.run(
      Array.from({ length: 2 * IDS_PER_INSERT }, (_, i) =>
        i % 2 ? first + at + (i >> 1) : ids[at + (i >> 1)],
      ) as SqliteValue[],
    )
  for (; at < ids.length; at++) one.run([ids[at] as string, first + at])
}

/** The records of a row in their wire form, null for deleted ones. @throws for a damaged row */
export function recordsOf({ body }: { body: string | Uint8Array }): unknown[] {
  const items = JSON.parse(typeof body === 'string' ? body : inflateRawSync(body).toString('utf8'))
  return (items as unknown[]).flatMap((item) => (Array.isArray(item) ? expandDeltas(item) : [item]))
}

/** The row with a record; undefined if there is none. */
export function findRow(sql: SqliteConnection, table: string, seq: number): JournalRow | undefined {
  const row = sql.get<JournalRow & Record<string, SqliteValue>>(selectRowFrom(table), seq)
  return row !== undefined && row.first <= seq ? row : undefined
}

/** The names in an index column. @throws for a damaged column */
export function parseNames(column: unknown): string[] {
  const names = JSON.parse(String(column)) as unknown
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw new TypeError('a column is not a list of names')
  return names
}

/** The record of a wire form, with its time. @throws for a damaged record */
export function reviveRecord<S extends z.ZodType, F>(
  { text, recordFilter }: JournalTable<S, F>,
  wire: unknown,
): { record: CamelCased<S>; time: number } {
  const record = text.revive(wire)
  const time = recordFilter.timeOf(record).getTime()
  if (Number.isNaN(time)) throw new RangeError('the time of a record is not valid')
  return { record, time }
}

/** Deletes rows by the numbers of their last records. */
export function deleteRows(
  sql: SqliteConnection,
  { table }: AnyJournalTable,
  lasts: readonly number[],
): void {
  for (const last of lasts) {
    if (table === 'sessions') {
      const row = sql.get<{ first: number; ids: string }>(SELECT_SESSION_IDS, last)
      const ids = row && Number.isInteger(row.first) ? parseOrUndefined(row.ids, parseNames) : undefined
      if (row === undefined || ids === undefined) sql.run(DELETE_SESSION_IDS_OF_ROW, last, last)
      else sql.run(DELETE_SESSION_IDS, JSON.stringify(ids.map(toColumn)), row.first, last)
    }
    sql.run(deleteRow(table), last)
  }
}

/**
 * Deletes records of a row and returns how many. `shouldKeep` gets the time and the index among the kept records. A damaged row
 * stays until all of it is deleted.
 */
export function removeFromRow(
  sql: SqliteConnection,
  journal: AnyJournalTable,
  last: number,
  shouldKeep: (time: number, index: number) => boolean,
): number {
  const { table } = journal
  const row = findRow(sql, table, last)
  if (row === undefined) return 0
  const parsed = parseOrUndefined(row, (stored) => {
    const wire = recordsOf(stored)
    const timed = wire.map((one) => (one === null ? null : reviveRecord(journal, one)))
    return { wire, timed }
  })
  if (parsed === undefined) return 0
  const { wire, timed } = parsed
  const times: number[] = []
  let deleted = 0
  // From the newest to the oldest, so that a limit by number keeps the newest records.
  for (let i = timed.length - 1; i >= 0; i--) {
    const one = timed[i]
    if (one == null) continue
    const { record, time } = one
    if (shouldKeep(time, times.length)) {
      times.push(time)
      continue
    }
    wire[i] = null
    deleted++
    if (table === 'sessions')
      sql.run(DELETE_SESSION_ID, toColumn((record as { sessionId: string }).sessionId), row.first + i)
  }
  if (deleted === 0) return 0
  if (times.length === 0) deleteRows(sql, journal, [last])
  else {
    const body = JSON.stringify(wire)
    sql.run(
      updateRow(table),
      times.length,
      Math.min(...times),
      Math.max(...times),
      typeof row.body === 'string' ? body : deflateRawSync(body),
      last,
    )
  }
  return deleted
}
