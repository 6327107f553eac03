import type { z } from 'zod'
import { camelKey } from '../../codec/twin.js'
import { breakerSchema } from '../breaker.js'
import { deadLetterSchema } from '../dead-letter.js'
import { errorRecordSchema } from '../errors.js'
import { windowSchema } from '../metrics.js'
import { EVENT_TYPES, eventSchema, OUTCOMES, STOP_REASONS, sessionSchema } from '../session.js'
import { breaker, contradictionsIn, deadLetter, errorRecord, event, metrics, session } from './convert.js'
import type { Reader } from './reader.js'

type Bag = Record<string, unknown>

/** What lines may hold. */
export type MigratedKind = 'sessions' | 'events' | 'metrics' | 'breakers' | 'deadLetters' | 'errors'

interface Kind {
  readonly name: MigratedKind
  /** The fields that tell it: all of one of these lists. */
  readonly signs: readonly (readonly string[])[]
  convert(reader: Reader): Bag
  readonly schema: z.ZodType
  /** What the schema cannot say: a sentence a problem. */
  check?(record: Bag): string[]
  /** The words that the record uses, each with those that a record of another program may use. */
  words?(record: Bag): readonly UsedWord[]
}

interface UsedWord {
  readonly path: string
  readonly got: unknown
  readonly known: readonly string[]
}

const KINDS: readonly Kind[] = [
  { name: 'deadLetters', signs: [['dlq_id']], convert: deadLetter, schema: deadLetterSchema },
  {
    name: 'events',
    signs: [['event_id'], ['event_type']],
    convert: event,
    schema: eventSchema,
    check: ({ attempt, max_attempts: most }) =>
      typeof attempt === 'number' && typeof most === 'number' && attempt > most
        ? [`max_attempts: got ${most}, takes at least attempt, which is ${attempt}`]
        : [],
    words: ({ event_type: got }) => [{ path: 'event_type', got, known: EVENT_TYPES }],
  },
  {
    name: 'sessions',
    signs: [
      ['session_id', 'attempts'],
      ['request_id', 'attempts'],
    ],
    convert: session,
    schema: sessionSchema,
    check: contradictionsIn,
    words: ({ stopped, attempts }) => [
      { path: 'stopped', got: stopped, known: STOP_REASONS },
      ...(Array.isArray(attempts) ? attempts : []).map((attempt: Bag, i) => ({
        path: `attempts.${i}.outcome`,
        got: attempt.outcome,
        known: OUTCOMES,
      })),
    ],
  },
  {
    name: 'metrics',
    signs: [['time_window_start', 'time_window_end']],
    convert: metrics,
    // Quantiles cannot be made up for windows of a time when nobody counted them.
    schema: windowSchema.extend({ latency: windowSchema.shape.latency.partial().nullish() }),
  },
  { name: 'errors', signs: [['severity', 'error_type']], convert: errorRecord, schema: errorRecordSchema },
  {
    name: 'breakers',
    signs: [
      ['state', 'failure_count'],
      ['state', 'threshold'],
      ['state', 'failure_threshold'],
    ],
    convert: breaker,
    schema: breakerSchema,
  },
]

/**
 * The words of a record that no version of this library ever wrote. Records with a stamp of ours may come from a newer
 * version, whose words are kept as text; in all others an unknown word is a mistake.
 */
export const unknownWords = (kind: Kind, record: Bag): string[] =>
  (kind.words?.(record) ?? [])
    .filter(({ got, known }) => typeof got === 'string' && !known.includes(got))
    .map(({ path, got, known }) => `${path}: expected one of ${known.join(', ')}, got ${JSON.stringify(got)}`)

/** Which kind a record is, by its fields in either spelling. */
export function kindOf(raw: Bag): Kind | undefined {
  const has = (field: string) => Object.hasOwn(raw, field) || Object.hasOwn(raw, camelKey(field))
  return KINDS.find(({ signs }) => signs.some((fields) => fields.every(has)))
}
