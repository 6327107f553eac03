import type { z } from 'zod'
import { breakerSchema } from '../breaker.js'
import { camelKey } from '../codec/case-codec.js'
import { OUTCOMES } from '../constants.js'
import { deadLetterSchema } from '../dead-letter.js'
import { errorRecordSchema } from '../errors.js'
import { EVENT_TYPES } from '../event-types.js'
import { windowSchema } from '../metrics.js'
import { eventSchema, sessionSchema } from '../session.js'
import { STOP_REASONS } from '../stop-reasons.js'
import {
  convertBreaker,
  convertDeadLetter,
  convertErrorRecord,
  convertEvent,
  convertMetrics,
  convertSession,
  findContradictions,
} from './convert.js'
import type { OldRecord, OldRecordReader } from './reader.js'

/** The kinds of records that can be migrated. */
export type MigratedKind = 'sessions' | 'events' | 'metrics' | 'breakers' | 'deadLetters' | 'errors'

export interface RecordKind {
  readonly name: MigratedKind
  /** The fields that identify the kind: all of one of these lists. */
  readonly requiredFields: readonly (readonly string[])[]
  convert(reader: OldRecordReader): OldRecord
  readonly schema: z.ZodObject
  /** Problems that the schema cannot find, one sentence each. */
  findProblems?(record: OldRecord): string[]
  /** The words in the record, each with the known words of its field. */
  words?(record: OldRecord): readonly UsedWord[]
}

interface UsedWord {
  readonly path: string
  readonly got: unknown
  readonly known: readonly string[]
}

const RECORD_KINDS: readonly RecordKind[] = [
  { name: 'deadLetters', requiredFields: [['dlq_id']], convert: convertDeadLetter, schema: deadLetterSchema },
  {
    name: 'events',
    requiredFields: [['event_id'], ['event_type']],
    convert: convertEvent,
    schema: eventSchema,
    findProblems: ({ attempt, max_attempts: maxAttempts }) =>
      typeof attempt === 'number' && typeof maxAttempts === 'number' && attempt > maxAttempts
        ? [`max_attempts: expected at least attempt (${attempt}), got ${maxAttempts}`]
        : [],
    words: ({ event_type: got }) => [{ path: 'event_type', got, known: EVENT_TYPES }],
  },
  {
    name: 'sessions',
    requiredFields: [
      ['session_id', 'attempts'],
      ['request_id', 'attempts'],
    ],
    convert: convertSession,
    schema: sessionSchema,
    findProblems: findContradictions,
    words: ({ stopped, attempts }) => [
      { path: 'stopped', got: stopped, known: STOP_REASONS },
      ...(Array.isArray(attempts) ? attempts : []).map((attempt: OldRecord, i) => ({
        path: `attempts.${i}.outcome`,
        got: attempt.outcome,
        known: OUTCOMES,
      })),
    ],
  },
  {
    name: 'metrics',
    requiredFields: [['time_window_start', 'time_window_end']],
    convert: convertMetrics,
    // Windows of earlier versions have no quantiles.
    schema: windowSchema.extend({ latency: windowSchema.shape.latency.partial().nullish() }),
  },
  {
    name: 'errors',
    requiredFields: [['severity', 'error_type']],
    convert: convertErrorRecord,
    schema: errorRecordSchema,
  },
  {
    name: 'breakers',
    requiredFields: [
      ['state', 'failure_count'],
      ['state', 'threshold'],
      ['state', 'failure_threshold'],
    ],
    convert: convertBreaker,
    schema: breakerSchema,
  },
]

/**
 * The unknown words in a record, which no version of this library wrote. In a record with the schema of this library they may come
 * from a newer version and are kept; in all other records they are problems.
 */
export const unknownWords = (kind: RecordKind, record: OldRecord): string[] =>
  (kind.words?.(record) ?? [])
    .filter(({ got, known }) => typeof got === 'string' && !known.includes(got))
    .map(({ path, got, known }) => `${path}: expected one of ${known.join(', ')}, got ${JSON.stringify(got)}`)

/** Whether the known fields of a record have their names in TypeScript, and not those of the wire format. */
export function isInTypeScriptSpelling(kind: RecordKind, raw: OldRecord): boolean {
  const names = Object.keys(kind.schema.shape).filter((name) => name.includes('_'))
  return (
    names.some((name) => Object.hasOwn(raw, camelKey(name))) &&
    !names.some((name) => Object.hasOwn(raw, name))
  )
}

/** The kind of a record, by its fields in either spelling. */
export function recordKindOf(raw: OldRecord): RecordKind | undefined {
  const hasField = (field: string) => Object.hasOwn(raw, field) || Object.hasOwn(raw, camelKey(field))
  return RECORD_KINDS.find(({ requiredFields }) => requiredFields.some((fields) => fields.every(hasField)))
}
