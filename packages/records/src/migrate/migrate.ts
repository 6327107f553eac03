import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { anyFunction, checkOptions } from '../option-checks.js'
import {
  isInTypeScriptSpelling,
  type MigratedKind,
  type RecordKind,
  recordKindOf,
  unknownWords,
} from './kinds.js'
import { readLines } from './lines.js'
import { isOldRecord, type OldRecord, OldRecordReader } from './reader.js'

/** Options of {@link migrateRecords}. */
export interface MigrateRecordsOptions {
  /**
   * Receives each converted line, without its line break. The result then contains no lines, so that files of any size can be
   * migrated. A returned promise is awaited.
   */
  write?: ((line: string) => unknown) | undefined
}

/** The report of a migration. */
export interface MigrateRecordsReport {
  /** Number of sessions in the result. */
  sessions: number
  /** Number of events in the result. */
  events: number
  /** Number of metrics in the result. */
  metrics: number
  /** Number of breakers in the result. */
  breakers: number
  /** Number of dead letters in the result. */
  deadLetters: number
  /** Number of error records in the result. */
  errors: number
  /** Number of records that were converted. */
  converted: number
  /** Number of records that had the current form already. */
  unchanged: number
  /** The problems of rejected lines, by line number, from 1. */
  problems: { line: number; message: string }[]
  /** Every line was converted or rejected: `in` is the sum of `out` and `rejected`. Empty lines do not count. */
  integrity: { in: number; out: number; rejected: number }
}

/** The result of a migration. */
export interface MigratedRecords {
  /** The records in the current wire form, in order. */
  records: Record<string, unknown>[]
  /** The same as JSON lines. */
  text: string
  /** The counts of the migration and its problems. */
  report: MigrateRecordsReport
}

type LineResult =
  | { kind: MigratedKind; record: Record<string, unknown>; isChanged: boolean }
  | { problem: string }

/**
 * Converts JSON lines of sessions, events, metrics, breakers, dead letters and error records of earlier systems to the current wire
 * form. Either spelling, earlier names (`latency`, `delay_before`, `threshold`, `timeout`, `email_id` …) and times in any form are
 * accepted, and missing derived fields are computed. A session that contradicts itself is rejected. The result matches the schemas;
 * lines that cannot be converted are reported and left out. Durations are in seconds, except in records of the current version in the
 * TypeScript spelling, which have milliseconds.
 *
 * @throws INVALID_OPTIONS if the input is neither a string nor an async iterable
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
  checkOptions('records cannot be migrated', options, {}, { write: anyFunction })
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
    // JSON does not accept a byte order mark.
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
    // The message of the parser is not used, because it quotes the line, which may contain a secret.
    return { problem: 'not valid JSON; expected one JSON object per line' }
  }
  if (!isOldRecord(raw))
    return {
      problem: `expected an object, got ${Array.isArray(raw) ? 'an array' : raw === null ? 'null' : `a ${typeof raw}`}`,
    }
  const kind = recordKindOf(raw)
  if (kind === undefined)
    return {
      problem: `expected a session (session_id, attempts), event (event_id), metrics (time_window_start), breaker, dead letter or error record, got ${Object.keys(raw).slice(0, 8).join(', ') || 'no fields'}`,
    }
  try {
    return convertRecord(kind, raw)
  } catch (error) {
    // Values that are nested too deeply, for example.
    return { problem: `${kind.name}: the record cannot be read (${(error as Error).name})` }
  }
}

function convertRecord(kind: RecordKind, raw: OldRecord): LineResult {
  const reader = new OldRecordReader(raw, isInTypeScriptSpelling(kind, raw))
  const record = kind.convert(reader)
  const result = kind.schema.safeParse(record)
  const problems = result.success
    ? [...(reader.isOwn ? [] : unknownWords(kind, record)), ...(kind.findProblems?.(record) ?? [])]
    : result.error.issues.map(formatIssue)
  if (problems.length > 0) return { problem: `${kind.name}: ${problems.join('; ')}` }
  return { kind: kind.name, record, isChanged: !isDeepStrictEqual(record, raw) }
}

const formatIssue = ({ path, message }: z.core.$ZodIssue) => `${path.join('.')}: ${message}`
