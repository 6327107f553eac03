import { inflateRawSync } from 'node:zlib'
import type { Connection } from './connection.js'

/** Records as they are stored: those numbered `first` to `last`. */
export interface Body {
  first: number
  last: number
  body: string | Uint8Array
}

/** How many records are stored together at the most, before they are old. */
const TOGETHER = 32

/** Stores records, as JSON, under consecutive numbers. */
export function writeBodies(sql: Connection, table: string, first: number, texts: readonly string[]): void {
  const statement = sql.statement(`INSERT INTO ${table}_bodies VALUES (?, ?, ?)`)
  for (let at = 0; at < texts.length; at += TOGETHER) {
    const some = texts.slice(at, at + TOGETHER)
    statement.run([first + at, first + at + some.length - 1, `[${some.join(',')}]`])
  }
}

/** Finds records by their numbers. Neighbours lie together, so the last row that was read is kept. */
export class Bodies {
  private readonly sql: Connection
  private readonly find: string
  private held: { first: number; last: number; records: unknown[] } | undefined

  constructor(sql: Connection, table: string) {
    this.sql = sql
    this.find = `SELECT first, last, body FROM ${table}_bodies WHERE first <= ? ORDER BY first DESC LIMIT 1`
  }

  /** The wire form of a record; undefined where it is gone. */
  get(seq: number): unknown {
    if (this.held === undefined || seq < this.held.first || seq > this.held.last) {
      const found = this.sql.get<{ first: number; last: number; body: string | Uint8Array }>(this.find, seq)
      if (found === undefined || found.last < seq) return undefined
      this.held = {
        first: found.first,
        last: found.last,
        records: JSON.parse(textOf(found.body)) as unknown[],
      }
    }
    return this.held.records[seq - this.held.first]
  }
}

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : inflateRawSync(body).toString('utf8')
