import type { z } from 'zod'
import { camelKey } from '../../codec/twin.js'
import { breakerSchema } from '../breaker.js'
import { deadLetterSchema } from '../dead-letter.js'
import { errorRecordSchema } from '../errors.js'
import { windowSchema } from '../metrics.js'
import { eventSchema, sessionSchema } from '../session.js'
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

/** Which kind a record is, by its fields in either spelling. */
export function kindOf(raw: Bag): Kind | undefined {
  const has = (field: string) => Object.hasOwn(raw, field) || Object.hasOwn(raw, camelKey(field))
  return KINDS.find(({ signs }) => signs.some((fields) => fields.every(has)))
}
