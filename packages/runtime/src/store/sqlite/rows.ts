import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { z } from 'zod'
import { unfold } from '../../codec/text.js'
import type { Twin } from '../../codec/twin.js'
import { toColumn } from '../text.js'
import type { Connection } from './connection.js'
import type { Value } from './driver.js'
import type { Shape } from './journal-shapes.js'

// oxlint-disable-next-line no-explicit-any -- of any journal: what its records are does not matter here
export type AnyShape = Shape<any, any>

/** A row of a journal: the records numbered `first` to `last`. */
export interface Row {
  first: number
  last: number
  body: string | Uint8Array
}

/** How many records lie in a row at the most, before they are old. */
const TOGETHER = 64

/** How many texts wait to be joined at the most. */
const JOINED = 8

/** How many records are compressed together, or a few more. */
export const CHUNK = 256

/** No row has more records than this. */
export const WIDEST = CHUNK + TOGETHER

/** The number of a journal's newest record, though it may have left. */
const NEWEST = 'SELECT seq FROM sqlite_sequence WHERE name = ?'

/** How many ids one statement inserts: calling a statement costs more than a row. */
const IDS = 16

/** Forgets where sessions of a row lay. */
const FORGET =
  'DELETE FROM session_ids WHERE session_id IN (SELECT value FROM json_each(?)) AND seq BETWEEN ? AND ?'

/** Records that become one row. Each is turned into text when it comes, and nothing else is kept of it. */
export class RowDraft<S extends z.ZodType> {
  private readonly shape: Shape<S, never>
  private readonly write: (record: Twin<S>) => string
  private texts: string[] = []
  private readonly sets: Set<string>[]
  private oldest = Number.POSITIVE_INFINITY
  private newest = Number.NEGATIVE_INFINITY
  private greatest = ''
  /** The row but for its numbers, once it is full. */
  private sealed: Value[] | undefined = undefined
  entries = 0
  /** Whether it takes no more. */
  full = false

  constructor(shape: Shape<S, never>) {
    this.shape = shape
    this.write = shape.text.changes()
    this.sets = shape.columns.map(() => new Set())
  }

  add(record: Twin<S>): void {
    const { nature, greatest, values } = this.shape
    try {
      this.texts.push(this.write(record))
    } catch (error) {
      // What was half written would be taken for what the next one has too.
      this.full = true
      throw error
    }
    // A text is many objects to the collector until it is joined.
    if (this.texts.length === JOINED) this.texts = [this.texts.join(',')]
    const time = nature.time(record).getTime()
    if (time < this.oldest) this.oldest = time
    if (time > this.newest) this.newest = time
    if (greatest !== undefined) {
      const value = greatest.of(record)
      if (value > this.greatest) this.greatest = value
    }
    const held = values(record)
    for (let i = 0; i < held.length; i++) {
      const value = held[i]
      if (typeof value === 'string') this.sets[i]?.add(value)
    }
    if (++this.entries < TOGETHER) return
    this.full = true
    this.sealed = this.seal()
  }

  /** The row, with its records numbered from `first` on. */
  values(first: number): Value[] {
    return [first + this.entries - 1, first, this.entries, ...(this.sealed ?? this.seal())]
  }

  private seal(): Value[] {
    const { greatest } = this.shape
    return [
      this.oldest,
      this.newest,
      ...(greatest === undefined ? [] : [this.greatest]),
      ...this.sets.map((set) => JSON.stringify([...set])),
      `[[${this.texts.join(',')}]]`,
    ]
  }
}

/** Stores rows. Tells the number of the first record. */
export function writeRows<S extends z.ZodType>(
  sql: Connection,
  { table, columns, greatest }: Shape<S, never>,
  drafts: readonly RowDraft<S>[],
): number {
  const start = (sql.get<{ seq: number }>(NEWEST, table)?.seq ?? 0) + 1
  const places = Array(6 + (greatest ? 1 : 0) + columns.length).fill('?')
  const statement = sql.statement(`INSERT INTO ${table} VALUES (${places.join(', ')})`)
  let first = start
  for (const draft of drafts) {
    if (draft.entries === 0) continue // its only record could not be written
    statement.run(draft.values(first))
    first += draft.entries
  }
  return start
}

/** Notes where sessions lie, from a number on. */
export function writeIds(sql: Connection, given: readonly string[], first: number): void {
  const ids = given.map(toColumn)
  const into = 'INSERT OR REPLACE INTO session_ids VALUES '
  const many = sql.statement(into + Array(IDS).fill('(?, ?)').join(', '))
  const one = sql.statement(`${into}(?, ?)`)
  let at = 0
  for (; at + IDS <= ids.length; at += IDS)
    many.run(
      Array.from({ length: 2 * IDS }, (_, i) =>
        i % 2 ? first + at + (i >> 1) : ids[at + (i >> 1)],
      ) as Value[],
    )
  for (; at < ids.length; at++) one.run([ids[at] as string, first + at])
}

/** The records of a row in their wire form, null for those that have left. */
export function recordsOf({ body }: { body: string | Uint8Array }): unknown[] {
  const items = JSON.parse(typeof body === 'string' ? body : inflateRawSync(body).toString('utf8'))
  return (items as unknown[]).flatMap((item) => (Array.isArray(item) ? unfold(item) : [item]))
}

/** The row that has a record; undefined where none has. */
export function rowOf(sql: Connection, table: string, seq: number): Row | undefined {
  const row = sql.get<Row & Record<string, Value>>(
    `SELECT first, last, body FROM ${table} WHERE last >= ? ORDER BY last LIMIT 1`,
    seq,
  )
  return row !== undefined && row.first <= seq ? row : undefined
}

/** Deletes rows, by the numbers of their last records. */
export function deleteRows(sql: Connection, { table }: AnyShape, lasts: readonly number[]): void {
  for (const last of lasts) {
    if (table === 'sessions') {
      const row = sql.get<{ first: number; ids: string }>(
        'SELECT first, session_ids AS ids FROM sessions WHERE last = ?',
        last,
      )
      const ids = JSON.parse(row?.ids ?? '[]') as string[]
      sql.run(FORGET, JSON.stringify(ids.map(toColumn)), row?.first ?? last, last)
    }
    sql.run(`DELETE FROM ${table} WHERE last = ?`, last)
  }
}

/** Lets records of a row go and the others stay. Tells how many went. */
export function cut(
  sql: Connection,
  shape: AnyShape,
  last: number,
  stays: (time: number, index: number) => boolean,
): number {
  const { table, nature, text } = shape
  const row = rowOf(sql, table, last)
  if (row === undefined) return 0
  const records = recordsOf(row)
  const times: number[] = []
  let gone = 0
  // From the newest on, so that whoever counts them counts the newest.
  for (let i = records.length - 1; i >= 0; i--) {
    if (records[i] === null) continue
    const record: unknown = text.revive(records[i])
    const time = nature.time(record).getTime()
    if (stays(time, times.length)) {
      times.push(time)
      continue
    }
    records[i] = null
    gone++
    if (table === 'sessions')
      sql.run(
        'DELETE FROM session_ids WHERE session_id = ? AND seq = ?',
        toColumn((record as { sessionId: string }).sessionId),
        row.first + i,
      )
  }
  if (gone === 0) return 0
  if (times.length === 0) deleteRows(sql, shape, [last])
  else {
    const body = JSON.stringify(records)
    sql.run(
      `UPDATE ${table} SET entries = ?, oldest = ?, newest = ?, body = ? WHERE last = ?`,
      times.length,
      Math.min(...times),
      Math.max(...times),
      typeof row.body === 'string' ? body : deflateRawSync(body),
      last,
    )
  }
  return gone
}
