import {
  attemptSchema,
  auditSchema,
  breakerEventSchema,
  breakerSchema,
  byMemberSchema,
  deadLetterSchema,
  errorRecordSchema,
  policySchema,
  seriesSchema,
  sessionSchema,
  summarySchema,
  windowSchema,
} from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { HTTP_STATUS_BY_CODE } from '../http/codes.js'

/** A policy whose endless attempts OpenAPI can say: JSON has no Infinity, a word stands for it. */
export const policyFields = policySchema.extend({
  max_attempts: policySchema.shape.max_attempts.meta({
    type: ['integer', 'string'],
    minimum: 1,
    pattern: '^Infinity$',
    description: 'A whole number from 1, or the word Infinity.',
  }),
})

/** Records under the names they have in OpenAPI. */
export const recordSchemas = {
  policy: policyFields.meta({ id: 'RetryPolicy' }),
  session: sessionSchema.meta({ id: 'RetrySession' }),
  attempt: attemptSchema.meta({ id: 'RetryAttempt' }),
  breaker: breakerSchema.meta({ id: 'CircuitBreakerState' }),
  breakerEvent: breakerEventSchema.meta({ id: 'CircuitBreakerEvent' }),
  error: errorRecordSchema.meta({ id: 'ErrorRecord' }),
  deadLetter: deadLetterSchema.meta({ id: 'DLQEntry' }),
  audit: auditSchema.meta({ id: 'AuditRecord' }),
  summary: summarySchema.meta({ id: 'MetricsSummary' }),
  series: seriesSchema.meta({ id: 'MetricsSeries' }),
  byMember: byMemberSchema.meta({ id: 'MetricsByProxy' }),
  window: windowSchema.meta({ id: 'MetricsWindow' }),
}

const ERROR_CODES = Object.keys(HTTP_STATUS_BY_CODE) as [keyof typeof HTTP_STATUS_BY_CODE]

/** What every error is answered with. */
export const errorResponseSchema = z
  .object({
    error: z.enum(ERROR_CODES),
    message: z.string(),
    details: z
      .array(z.unknown())
      .optional()
      .describe('With status 400 what is wrong with which field: `{ in?, path, message }` each.'),
  })
  .meta({ id: 'Error' })

/** A part of a list, and where the next begins. */
export const pageSchema = <S extends z.ZodType>(item: S) =>
  z.object({ items: z.array(item), cursor: z.string().optional() })

/** A whole number in a query. */
const integerBetween = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, 'takes a whole number')
    .transform(Number)
    .pipe(z.int().min(least).max(most))
    .openapi({ type: 'integer', minimum: least, maximum: most })

/** How much of a list, and from where. */
export const pagingParams = {
  limit: integerBetween(1, 1000).default(100),
  cursor: z.string().min(1).max(2000).optional(),
}

/** A point in time in a query. */
const timestampParam = () =>
  z.iso
    .datetime({ offset: true, error: 'takes a time as in 2026-01-29T12:00:00Z' })
    .transform((text) => new Date(text))
    .optional()

/** A stretch of time: at or after, and before. */
export const timeRangeParams = { from: timestampParam(), to: timestampParam() }

export const orderParam = z.enum(['oldest', 'newest']).optional()

/** How many hours back. */
export const hoursParam = integerBetween(1, 168).default(24)

/** A word to filter by. */
export const optionalWord = z.string().min(1).max(500).optional()

/** Yes or no in a query. */
export const booleanParam = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()

/** The name of a thing in a path. */
export const idParam = z.string().min(1).max(500)

/** A parameter that may be given several times. */
export const repeatableParam = <S extends z.ZodType<string>>(one: S) =>
  z
    .union([one, z.array(one).max(100)])
    .transform((input) => (Array.isArray(input) ? input : [input]))
    .optional()

/** A body that says why, and nothing else. */
export const reasonBody = z.strictObject({ reason: z.string().max(1000).optional() }).meta({ id: 'Reason' })
