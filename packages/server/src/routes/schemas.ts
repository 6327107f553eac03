import {
  attemptSchema,
  auditSchema,
  breakerEventSchema,
  breakerSchema,
  byMemberSchema,
  byOperationSchema,
  deadLetterSchema,
  errorRecordSchema,
  explanationSchema,
  policySchema,
  seriesSchema,
  sessionSchema,
  summarySchema,
  windowSchema,
} from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { describeErrorCodes, ERROR_CODES } from '../http/error-codes.js'
import { expecting } from '../http/validation.js'

/** The fields of a policy with a description of unlimited attempts: JSON has no Infinity, so it is a string. */
export const policyFields = policySchema.extend({
  max_attempts: policySchema.shape.max_attempts.meta({
    type: ['integer', 'string'],
    minimum: 1,
    pattern: '^Infinity$',
    description: 'An integer from 1, or the string Infinity.',
  }),
})

/** The schemas of records with their names in OpenAPI. */
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
  byOperation: byOperationSchema.meta({ id: 'MetricsByOperation' }),
  explanation: explanationSchema.meta({ id: 'Explanation' }),
  window: windowSchema.meta({ id: 'MetricsWindow' }),
}

/** The body of every error response. */
export const errorResponseSchema = z
  .object({
    error: z.enum(ERROR_CODES).describe(`The code of the error:\n\n${describeErrorCodes()}`),
    message: z.string().describe('The cause, for people. It can change with every release.'),
    details: z
      .array(z.unknown())
      .optional()
      .describe('With status 400 the problems of fields: `{ in?, path, message }` each.'),
  })
  .meta({ id: 'Error' })

/** A page of a list with the cursor of the next page. */
export const pageSchema = <S extends z.ZodType>(item: S) =>
  z.object({ items: z.array(item), cursor: z.string().optional() })

/** An integer in a query, with its default. */
const integerParam = (minimum: number, maximum: number, initial: number, description: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, { error: expecting('an integer') })
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum))
    .default(initial)
    .openapi({ type: 'integer', minimum, maximum, default: initial, description })

/** The parameters of a page. */
export const pagingParams = {
  limit: integerParam(1, 1000, 100, 'The maximum number of items.'),
  cursor: z.string().min(1).max(2000).optional().describe('The `cursor` of the previous page.'),
}

/** A point in time in a query. */
const timestampParam = (description: string) =>
  z.iso
    .datetime({ offset: true, error: expecting('a time such as 2026-01-29T12:00:00Z') })
    .transform((text) => new Date(text))
    .optional()
    .describe(description)

/** A time range: from is inclusive, to is exclusive. */
export const timeRangeParams = {
  from: timestampParam('The start of the time range, inclusive.'),
  to: timestampParam('The end of the time range, exclusive.'),
}

export const orderParam = z.enum(['oldest', 'newest']).optional().describe('Which items come first.')

/** The time between two points of metrics, in seconds. */
export const stepParam = z
  .string()
  .regex(/^\d{1,9}$/, { error: expecting('a number of seconds') })
  .transform(Number)
  .refine((seconds) => seconds > 0 && seconds % 60 === 0, { error: expecting('a multiple of 60') })
  .optional()
  .openapi({
    type: 'integer',
    minimum: 60,
    multipleOf: 60,
    description: 'The time between two points in seconds, a multiple of 60. Default: 60.',
  })

/** The length of a time range that ends now, in hours. */
export const hoursParam = integerParam(1, 168, 24, 'The length of the time range, which ends now, in hours.')

/** A string to filter by. */
export const optionalWord = (description: string) =>
  z.string().min(1).max(500).optional().describe(description)

/** A boolean in a query. */
export const booleanParam = (description: string) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe(description)

/** An id in a path. */
export const idParam = (description: string) => z.string().min(1).max(500).describe(description)

/** A parameter that can be given several times. */
export const repeatableParam = <S extends z.ZodType<string>>(one: S, description: string) =>
  z
    .union([one, z.array(one).max(100)])
    .transform((input) => (Array.isArray(input) ? input : [input]))
    .optional()
    .describe(description)

/** The reason of a change, for the audit trail. */
export const reasonField = z.string().max(1000).optional().describe('The reason, for the audit trail.')

/** A body with only a reason. */
export const reasonBody = z.strictObject({ reason: reasonField }).meta({ id: 'Reason' })
