import { DEAD_LETTER_STATUSES, deadLetterCodec, deadLetterStatsCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { encodeJob, jobSchema } from './jobs.js'
import type { Routes } from './routes.js'
import {
  idParam,
  optionalWord,
  orderParam,
  pageSchema,
  pagingParams,
  reasonBody,
  reasonField,
  recordSchemas,
  repeatableParam,
  timeRangeParams,
} from './schemas.js'

const countsSchema = z.object({
  pending: z.int(),
  replaying: z.int(),
  completed: z.int(),
  failed: z.int(),
})

const statsSchema = z
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

const batchSchema = z
  .strictObject({
    operation: optionalWord('Only dead letters of this operation.'),
    limit: z.int().min(1).max(1_000_000).optional().describe('The maximum number of replays.'),
    concurrency: z.int().min(1).max(100).optional().describe('The number of concurrent replays. Default: 4.'),
    rate: z.number().gt(0).max(100_000).optional().describe('The maximum number of replays per second.'),
    retry_failed: z
      .boolean()
      .optional()
      .describe('Whether dead letters whose last replay failed are replayed too.'),
    reason: reasonField,
  })
  .meta({ id: 'ReplayRequest' })

/** The routes of dead letters and their replays. */
export function addDeadLetterRoutes({ hf, operation, jobs }: Routes): void {
  const tag = 'dead letters'

  operation(
    {
      method: 'get',
      path: '/dead-letters',
      id: 'listDeadLetters',
      tag,
      role: 'viewer',
      summary: 'Dead letters, oldest first',
      query: z.strictObject({
        ...pagingParams,
        ...timeRangeParams,
        order: orderParam,
        operation: optionalWord('Only dead letters of this operation.'),
        status: repeatableParam(
          z.enum(DEAD_LETTER_STATUSES),
          'Only dead letters with one of these statuses.',
        ),
        item_id: optionalWord('Only dead letters of this item.'),
      }),
      answers: { 200: { description: 'A page of entries', schema: pageSchema(recordSchemas.deadLetter) } },
    },
    async ({ query: { item_id, ...query } }) => {
      const { items, ...rest } = await hf.deadLetters.list({ ...query, itemId: item_id })
      return { body: { items: items.map(deadLetterCodec.encode), ...rest } }
    },
  )

  operation(
    {
      method: 'get',
      path: '/dead-letters/stats',
      id: 'getDeadLetterStats',
      tag,
      role: 'viewer',
      summary: 'The number of dead letters by status and by operation',
      answers: { 200: { description: 'The counts', schema: statsSchema } },
    },
    async () => {
      return { body: deadLetterStatsCodec.encode(await hf.deadLetters.stats()) }
    },
  )

  operation(
    {
      method: 'post',
      path: '/dead-letters/replay',
      id: 'replayDeadLetters',
      tag,
      role: 'operator',
      summary: 'Starts a job that replays dead letters, oldest first',
      description:
        'Responds at once with a job; GET the URL in Location returns its progress. Replays pending entries, and with ' +
        '`retry_failed` also failed ones. Requires the role operator.',
      optionalBody: batchSchema,
      answers: { 202: { description: 'The job', schema: jobSchema } },
    },
    ({ body, by, c }) => {
      const { operation: name, limit, concurrency, rate, retry_failed } = body ?? {}
      const job = jobs.start((signal, onProgress) =>
        hf.deadLetters.replayBatch(
          { operation: name, limit, concurrency, rate, retryFailed: retry_failed, signal, onProgress },
          by,
        ),
      )
      const location = `${new URL(c.req.url).pathname.replace(/dead-letters\/replay$/, '')}jobs/${job.id}`
      return { status: 202, body: encodeJob(job), headers: { location } }
    },
  )

  const one = { tag, params: z.object({ id: idParam('The id of the dead letter.') }) } as const
  const createNotFound = (name: string) =>
    new ApiError('DEAD_LETTER_NOT_FOUND', `dead letter ${name} not found`)

  operation(
    {
      ...one,
      method: 'get',
      path: '/dead-letters/{id}',
      id: 'getDeadLetter',
      role: 'viewer',
      summary: 'One dead letter with its payload and its history',
      answers: { 200: { description: 'The entry', schema: recordSchemas.deadLetter } },
    },
    async ({ params }) => {
      const entry = await hf.deadLetters.get(params.id)
      if (entry === undefined) throw createNotFound(params.id)
      return { body: deadLetterCodec.encode(entry) }
    },
  )

  operation(
    {
      ...one,
      method: 'delete',
      path: '/dead-letters/{id}',
      id: 'deleteDeadLetter',
      role: 'operator',
      summary: 'Deletes a dead letter',
      answers: { 204: { description: 'The dead letter is deleted' } },
      errors: ['DEAD_LETTER_LEASED'],
    },
    async ({ params, by }) => {
      if ((await hf.deadLetters.get(params.id)) === undefined) throw createNotFound(params.id)
      const deleted = await hf.deadLetters.purge({ ids: [params.id] }, by)
      if (deleted === 0)
        throw new ApiError(
          'DEAD_LETTER_LEASED',
          `${params.id} is being replayed; retry when the replay has ended`,
        )
      return { status: 204 }
    },
  )

  operation(
    {
      ...one,
      method: 'post',
      path: '/dead-letters/{id}/replay',
      id: 'replayDeadLetter',
      role: 'operator',
      summary: 'Replays one dead letter and waits for the result',
      description:
        'If this process has no handler for the operation, the request is stored with the entry and a worker of another ' +
        'process replays it. A replay that fails responds with the entry in status `failed`. Requires the role operator.',
      optionalBody: reasonBody,
      answers: { 200: { description: 'The dead letter after the replay', schema: recordSchemas.deadLetter } },
      errors: ['DEAD_LETTER_LEASED'],
    },
    async ({ params, by }) => ({ body: deadLetterCodec.encode(await hf.deadLetters.replay(params.id, by)) }),
  )
}
