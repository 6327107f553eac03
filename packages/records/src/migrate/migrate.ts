import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { anyFunction, checkOptions } from '../option-checks.js'
import { type MigratedKind, recordKindOf, unknownWords } from './kinds.js'
import { readLines } from './lines.js'
import { isOldRecord, OldRecordReader } from './reader.js'

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

type LineResult =
  | { kind: MigratedKind; record: Record<string, unknown>; isChanged: boolean }
  | { problem: string }

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
  checkOptions('records cannot be brought over', options, {}, { write: anyFunction })
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
  for await (const line of readLines(lines)) {
    number++
    // A byte order mark is no space to JSON.
    const text = line.replace(/^\uFEFF/, '').trim()
    if (text === '') continue
    report.integrity.in++
    const read = convertLine(text)
    if ('problem' in read) {
      report.integrity.rejected++
      report.problems.push({ line: number, message: read.problem })
      continue
    }
    report.integrity.out++
    report[read.kind]++
    report[read.isChanged ? 'converted' : 'unchanged']++
    const written = read.isChanged ? JSON.stringify(read.record) : text
    if (options.write !== undefined) await options.write(written)
    else {
      records.push(read.record)
      texts.push(written)
    }
  }
  return { records, text: texts.map((text) => `${text}\n`).join(''), report }
}

function convertLine(text: string): LineResult {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    // What the parser says quotes the line, and the line may hold a secret.
    return { problem: 'is not JSON; takes one JSON object a line' }
  }
  if (!isOldRecord(raw))
    return {
      problem: `is ${Array.isArray(raw) ? 'an array' : raw === null ? 'null' : `a ${typeof raw}`}, takes an object`,
    }
  const kind = recordKindOf(raw)
  if (kind === undefined)
    return {
      problem: `is no record that is known; takes sessions (session_id, attempts), events (event_id), metrics (time_window_start), breakers, dead letters and error records; has ${Object.keys(raw).slice(0, 8).join(', ') || 'no fields'}`,
    }
  const reader = new OldRecordReader(raw)
  const record = kind.convert(reader)
  const result = kind.schema.safeParse(record)
  const problems = result.success
    ? [...(reader.isOwn ? [] : unknownWords(kind, record)), ...(kind.findProblems?.(record) ?? [])]
    : result.error.issues.map(formatIssue)
  if (problems.length > 0) return { problem: `${kind.name}: ${problems.join('; ')}` }
  return { kind: kind.name, record, isChanged: !isDeepStrictEqual(record, raw) }
}

const formatIssue = ({ path, message }: z.core.$ZodIssue) => `${path.join('.')}: ${message}`
