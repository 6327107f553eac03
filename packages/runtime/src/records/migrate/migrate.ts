import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { callable, check } from '../../check.js'
import { kindOf, type MigratedKind, unknownWords } from './kinds.js'
import { linesOf } from './lines.js'
import { isBag, Reader } from './reader.js'

/** What a migration may be told. */
export interface MigrateRecordsOptions {
  /**
   * Gets each line as it is ready, without its line break. The result then holds no lines, so that files of any size can be
   * brought over. A promise it returns is waited for.
   */
  write?: ((line: string) => unknown) | undefined
}

/** What became of the lines. */
export interface MigrateRecordsReport {
  /** How many of each there are in what came out. */
  sessions: number
  events: number
  metrics: number
  breakers: number
  deadLetters: number
  errors: number
  /** How many were brought to the current form, and how many had it already. */
  converted: number
  unchanged: number
  /** What could not be brought over, by the number of its line, from 1. */
  problems: { line: number; message: string }[]
  /** Every line that went in came out or was rejected: `in` is the sum of the others. Empty lines do not count. */
  integrity: { in: number; out: number; rejected: number }
}

/** What came out of a migration. */
export interface MigratedRecords {
  /** The records in the current wire form, in order. */
  records: Record<string, unknown>[]
  /** The same as JSON lines. */
  text: string
  report: MigrateRecordsReport
}

type Read = { kind: MigratedKind; record: Record<string, unknown>; changed: boolean } | { problem: string }

/**
 * Brings JSON lines of old sessions, events and metrics, and of breakers, dead letters and error records, to the current wire
 * form: either spelling, earlier names (`latency`, `delay_before`, `threshold`, `timeout`, `email_id` …), times in any form, derived
 * fields computed where they are missing. A session that contradicts itself is rejected. What comes out fits the schemas; what cannot be brought over is told by line and left out. The input is not
 * changed. Durations are seconds, but for records of the current version in the TypeScript spelling, which have milliseconds.
 *
 * @throws INVALID_OPTIONS where the input is neither a string nor an async iterable
 *
 * @example
 * ```ts
 * import { migrateRecords } from '@holdfast/runtime'
 *
 * const old = [
 *   { eventId: 'evt_1', eventType: 'retry_attempt', timestamp: '2026-01-29T12:00:32', sessionId: 's1', attempt: 2, delay: 1.5 },
 *   { hello: 'world' },
 * ].map((record) => JSON.stringify(record))
 * const { records, report } = await migrateRecords(old.join('\n'))
 * records[0]?.event_id // => 'evt_1'
 * records[0]?.timestamp // => '2026-01-29T12:00:32.000Z'
 * report.integrity // => { in: 2, out: 1, rejected: 1 }
 * ```
 */
export async function migrateRecords(
  lines: string | AsyncIterable<string>,
  options: MigrateRecordsOptions = {},
): Promise<MigratedRecords> {
  check('records cannot be brought over', options, {}, { write: callable })
  const records: Record<string, unknown>[] = []
  const texts: string[] = []
  const report: MigrateRecordsReport = {
    sessions: 0,
    events: 0,
    metrics: 0,
    breakers: 0,
    deadLetters: 0,
    errors: 0,
    converted: 0,
    unchanged: 0,
    problems: [],
    integrity: { in: 0, out: 0, rejected: 0 },
  }
  let number = 0
  for await (const line of linesOf(lines)) {
    number++
    // A byte order mark is no space to JSON.
    const text = line.replace(/^\uFEFF/, '').trim()
    if (text === '') continue
    report.integrity.in++
    const read = readLine(text)
    if ('problem' in read) {
      report.integrity.rejected++
      report.problems.push({ line: number, message: read.problem })
      continue
    }
    report.integrity.out++
    report[read.kind]++
    report[read.changed ? 'converted' : 'unchanged']++
    const written = read.changed ? JSON.stringify(read.record) : text
    if (options.write !== undefined) await options.write(written)
    else {
      records.push(read.record)
      texts.push(written)
    }
  }
  return { records, text: texts.map((text) => `${text}\n`).join(''), report }
}

function readLine(text: string): Read {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    // What the parser says quotes the line, and the line may hold a secret.
    return { problem: 'is not JSON; takes one JSON object a line' }
  }
  if (!isBag(raw))
    return {
      problem: `is ${Array.isArray(raw) ? 'an array' : raw === null ? 'null' : `a ${typeof raw}`}, takes an object`,
    }
  const kind = kindOf(raw)
  if (kind === undefined)
    return {
      problem: `is no record that is known; takes sessions (session_id, attempts), events (event_id), metrics (time_window_start), breakers, dead letters and error records; has ${Object.keys(raw).slice(0, 8).join(', ') || 'no fields'}`,
    }
  const reader = new Reader(raw)
  const record = kind.convert(reader)
  const result = kind.schema.safeParse(record)
  const problems = result.success
    ? [...(reader.isOwn ? [] : unknownWords(kind, record)), ...(kind.check?.(record) ?? [])]
    : result.error.issues.map(sentence)
  if (problems.length > 0) return { problem: `${kind.name}: ${problems.join('; ')}` }
  return { kind: kind.name, record, changed: !isDeepStrictEqual(record, raw) }
}

const sentence = ({ path, message }: z.core.$ZodIssue) => `${path.join('.')}: ${message}`
