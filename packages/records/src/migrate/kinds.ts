import type { z } from 'zod'
import { breakerSchema } from '../breaker.js'
import { camelKey } from '../codec/case-codec.js'
import { deadLetterSchema } from '../dead-letter.js'
import { errorRecordSchema } from '../errors.js'
import { windowSchema } from '../metrics.js'
import { EVENT_TYPES, eventSchema, OUTCOMES, STOP_REASONS, sessionSchema } from '../session.js'
import {
  convertBreaker,
  convertDeadLetter,
  convertErrorRecord,
  convertEvent,
  convertMetrics,
  convertSession,
  findContradictions,
} from './convert.js'
import type { OldRecordReader } from './reader.js'

type OldRecord = Record<string, unknown>

/** What lines may hold. */
export type MigratedKind = 'sessions' | 'events' | 'metrics' | 'breakers' | 'deadLetters' | 'errors'

interface RecordKind {
  readonly name: MigratedKind
  /** The fields that tell it: all of one of these lists. */
  readonly requiredFields: readonly (readonly string[])[]
  convert(reader: OldRecordReader): OldRecord
  readonly schema: z.ZodType
  /** What the schema cannot say: a sentence a problem. */
  findProblems?(record: OldRecord): string[]
  /** The words that the record uses, each with those that a record of another program may use. */
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
    findProblems: ({ attempt, max_attempts: most }) =>
      typeof attempt === 'number' && typeof most === 'number' && attempt > most
        ? [`max_attempts: got ${most}, takes at least attempt, which is ${attempt}`]
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
    // Quantiles cannot be made up for windows of a time when nobody counted them.
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
 * The words of a record that no version of this library ever wrote. Records with a stamp of ours may come from a newer
 * version, whose words are kept as text; in all others an unknown word is a mistake.
 */
export const unknownWords = (kind: RecordKind, record: OldRecord): string[] =>
  (kind.words?.(record) ?? [])
    .filter(({ got, known }) => typeof got === 'string' && !known.includes(got))
    .map(({ path, got, known }) => `${path}: expected one of ${known.join(', ')}, got ${JSON.stringify(got)}`)

/** Which kind a record is, by its fields in either spelling. */
export function recordKindOf(raw: OldRecord): RecordKind | undefined {
  const hasField = (field: string) => Object.hasOwn(raw, field) || Object.hasOwn(raw, camelKey(field))
  return RECORD_KINDS.find(({ requiredFields }) => requiredFields.some((fields) => fields.every(hasField)))
}
