import { DEAD_LETTER_STATUSES, type DeadLetterSelection, type DeadLetterStatus } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { idParam, optionalWord, reasonField, repeatableParam, timeRangeParams } from './schemas.js'

const countsSchema = z.object({
  pending: z.int(),
  replaying: z.int(),
  completed: z.int(),
  failed: z.int(),
})

export const statsSchema = z
  .object({
    total: z.int().describe('The number of all dead letters.'),
    by_status: countsSchema.describe('The number with each status.'),
    by_operation: z.record(z.string(), countsSchema).describe('The number with each status, by operation.'),
    oldest: z.iso
      .datetime()
      .nullish()
      .describe('When the oldest dead letter that is not completed was created.'),
  })
  .meta({ id: 'DLQStats' })

export const countSchema = z
  .object({
    total: z.int().describe('The number of matching dead letters.'),
    by_status: countsSchema.describe('The number of matching dead letters with each status.'),
    counted_at: z.iso.datetime().describe('When they were counted.'),
  })
  .meta({ id: 'DLQCount' })

/** The filters of lists, counts, replays and purges. */
export const filters = {
  ...timeRangeParams,
  operation: optionalWord('Only dead letters of this operation.'),
  status: repeatableParam(z.enum(DEAD_LETTER_STATUSES), 'Only dead letters with one of these statuses.'),
  item_id: optionalWord('Only dead letters of this item.'),
  search: optionalWord(
    'Only dead letters whose item id, correlation id or payload contains this text, in upper or lower case. The payload is ' +
      'searched as JSON without spaces: `"customer":"acme"` finds one value of one field.',
  ),
}

const bodyFilters = {
  ...filters,
  ids: z.array(idParam('The id of a dead letter.')).max(1000).optional().describe('Only these dead letters.'),
}

/** Filters in the spelling of the runtime. */
export const toSelection = ({
  operation,
  status,
  item_id,
  from,
  to,
  search,
  ids,
}: Partial<z.output<z.ZodObject<typeof bodyFilters>>>): DeadLetterSelection => ({
  operation,
  status,
  itemId: item_id,
  from,
  to,
  search,
  ...(ids === undefined ? {} : { ids }),
})

export const waitForBreaker = z
  .boolean()
  .optional()
  .describe(
    'Whether a dead letter that cannot be replayed because the breaker is open is replayed when the breaker closes. ' +
      'Default: false.',
  )

export const REPLAYABLE: readonly DeadLetterStatus[] = ['pending', 'failed']

export const batchSchema = z
  .strictObject({
    ...bodyFilters,
    status: repeatableParam(
      z.enum(DEAD_LETTER_STATUSES),
      'Only dead letters with one of these statuses; those that are completed or being replayed are never replayed. ' +
        'Default: pending, and failed with `retry_failed` or `ids`.',
    ),
    limit: z.int().min(1).max(1_000_000).optional().describe('The maximum number of replays.'),
    concurrency: z.int().min(1).max(100).optional().describe('The number of concurrent replays. Default: 4.'),
    rate: z.number().gt(0).max(100_000).optional().describe('The maximum number of replays per second.'),
    retry_failed: z
      .boolean()
      .optional()
      .describe('Whether dead letters whose last replay failed are replayed too.'),
    wait_for_breaker: waitForBreaker,
    reason: reasonField,
  })
  .meta({ id: 'ReplayRequest' })

export const purgeSchema = z
  .strictObject({
    ...bodyFilters,
    all: z.literal(true).optional().describe('Deletes all dead letters. Required without a filter.'),
    reason: reasonField,
  })
  .refine((body) => Object.entries(body).some(([name, value]) => name !== 'reason' && value !== undefined), {
    message: 'expected a filter or all: true, got neither',
  })
  .meta({ id: 'PurgeRequest' })
