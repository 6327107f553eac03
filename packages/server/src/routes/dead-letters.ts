import { deadLetterCodec, deadLetterStatsCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { respondWithPage } from '../http/json-list.js'
import {
  batchSchema,
  countSchema,
  filters,
  purgeSchema,
  REPLAYABLE,
  statsSchema,
  toSelection,
  waitForBreaker,
} from './dead-letter-schemas.js'
import { encodeJob, jobSchema } from './jobs.js'
import type { Routes } from './routes.js'
import { idParam, orderParam, pageSchema, pagingParams, reasonField, recordSchemas } from './schemas.js'

/** The routes of dead letters and their replays. */
export function addDeadLetterRoutes({ hf, addRoute, jobs }: Routes): void {
  const tag = 'dead letters'

  addRoute(
    {
      method: 'get',
      path: '/dead-letters',
      id: 'listDeadLetters',
      tag,
      role: 'viewer',
      summary: 'Dead letters, oldest first',
      query: z.strictObject({
        ...pagingParams,
        ...filters,
        order: orderParam,
      }),
      responses: { 200: { description: 'A page of entries', schema: pageSchema(recordSchemas.deadLetter) } },
    },
    async ({ query: { limit, cursor, order, ...query }, honoContext }) => {
      const page = await hf.deadLetters.list({ limit, cursor, order, ...toSelection(query) })
      return respondWithPage(honoContext, 'items', page, deadLetterCodec.encode)
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/dead-letters/count',
      id: 'countDeadLetters',
      tag,
      role: 'viewer',
      summary: 'The number of dead letters that match the filters',
      description:
        'The filters are those of the list, of `POST /dead-letters/replay` and of `POST /dead-letters/purge`, and select the ' +
        'same dead letters. Requires the role viewer.',
      query: z.strictObject(filters),
      responses: { 200: { description: 'The counts', schema: countSchema } },
    },
    async ({ query }) => {
      const { total, byStatus, at } = await hf.deadLetters.count(toSelection(query))
      return { body: { total, by_status: byStatus, counted_at: at.toISOString() } }
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/dead-letters/stats',
      id: 'getDeadLetterStats',
      tag,
      role: 'viewer',
      summary: 'The number of dead letters by status and by operation',
      responses: { 200: { description: 'The counts', schema: statsSchema } },
    },
    async () => {
      return { body: deadLetterStatsCodec.encode(await hf.deadLetters.stats()) }
    },
  )

  addRoute(
    {
      method: 'post',
      path: '/dead-letters/replay',
      id: 'replayDeadLetters',
      tag,
      role: 'operator',
      summary: 'Starts a job that replays the dead letters that match the filters, oldest first',
      description:
        'Responds with a job and the number of matching dead letters; GET the URL in Location returns its progress. ' +
        'Without `status`, replays pending dead letters, and with `retry_failed` also failed ones. `GET /dead-letters/count` ' +
        'with the same filters returns the number without a replay. Requires the role operator.',
      optionalBody: batchSchema,
      responses: { 202: { description: 'The job', schema: jobSchema } },
    },
    async ({ body, actor, honoContext }) => {
      const { limit, concurrency, rate, retry_failed, wait_for_breaker, ...given } = body ?? {}
      const selection = toSelection(given)
      const { status, ids } = given
      const statuses =
        status?.filter((each) => REPLAYABLE.includes(each)) ??
        (retry_failed || ids !== undefined ? REPLAYABLE : (['pending'] as const))
      const { total } = await hf.deadLetters.count({ ...selection, status: statuses })
      const options = {
        limit,
        concurrency,
        rate,
        retryFailed: retry_failed,
        waitForBreaker: wait_for_breaker,
      }
      const job = jobs.start(Math.min(total, limit ?? total), (signal, listeners) =>
        hf.deadLetters.replayBatch({ ...selection, ...options, ...listeners, signal }, actor),
      )
      const location = `${new URL(honoContext.req.url).pathname.replace(/dead-letters\/replay$/, '')}jobs/${job.id}`
      return { status: 202, body: encodeJob(job), headers: { location } }
    },
  )

  addRoute(
    {
      method: 'post',
      path: '/dead-letters/purge',
      id: 'purgeDeadLetters',
      tag,
      role: 'operator',
      summary: 'Deletes the dead letters that match the filters',
      description:
        'This cannot be undone. Dead letters that are being replayed are not deleted. Without a filter, `all: true` is ' +
        'required. `GET /dead-letters/count` with the same filters returns the number without deleting anything. Requires ' +
        'the role operator.',
      body: purgeSchema,
      responses: {
        200: {
          description: 'The number of deleted dead letters',
          schema: z.object({
            purged: z.int().describe('The number of deleted dead letters.'),
            skipped: z.int().describe('The number of dead letters that are being replayed.'),
          }),
        },
      },
    },
    async ({ body, actor }) => {
      const selection = toSelection(body)
      const purged = await hf.deadLetters.purge(selection, actor)
      const { byStatus } = await hf.deadLetters.count(selection)
      return { body: { purged, skipped: byStatus.replaying } }
    },
  )

  const one = { tag, params: z.object({ id: idParam('The id of the dead letter.') }) } as const
  const createNotFound = (name: string) =>
    new ApiError('DEAD_LETTER_NOT_FOUND', `dead letter ${name} not found`)

  addRoute(
    {
      ...one,
      method: 'get',
      path: '/dead-letters/{id}',
      id: 'getDeadLetter',
      role: 'viewer',
      summary: 'One dead letter with its payload and its history',
      responses: { 200: { description: 'The entry', schema: recordSchemas.deadLetter } },
    },
    async ({ params }) => {
      const entry = await hf.deadLetters.get(params.id)
      if (entry === undefined) throw createNotFound(params.id)
      return { body: deadLetterCodec.encode(entry) }
    },
  )

  addRoute(
    {
      ...one,
      method: 'delete',
      path: '/dead-letters/{id}',
      id: 'deleteDeadLetter',
      role: 'operator',
      summary: 'Deletes a dead letter',
      responses: { 204: { description: 'The dead letter is deleted' } },
      errors: ['DEAD_LETTER_LEASED'],
    },
    async ({ params, actor }) => {
      if ((await hf.deadLetters.get(params.id)) === undefined) throw createNotFound(params.id)
      const deleted = await hf.deadLetters.purge({ ids: [params.id] }, actor)
      if (deleted === 0)
        throw new ApiError(
          'DEAD_LETTER_LEASED',
          `${params.id} is being replayed; retry when the replay has ended`,
        )
      return { status: 204 }
    },
  )

  addRoute(
    {
      ...one,
      method: 'post',
      path: '/dead-letters/{id}/replay',
      id: 'replayDeadLetter',
      role: 'operator',
      summary: 'Replays one dead letter and waits for the result',
      description:
        'If this process has no handler for the operation, the request is stored with the entry and a worker of another ' +
        'process replays it. A replay that fails again responds with the entry in status `failed` and the error at the end ' +
        'of `error_details.history`. Requires the role operator.',
      optionalBody: z
        .strictObject({ wait_for_breaker: waitForBreaker, reason: reasonField })
        .meta({ id: 'ReplayOneRequest' }),
      responses: {
        200: { description: 'The dead letter after the replay', schema: recordSchemas.deadLetter },
      },
      errors: ['DEAD_LETTER_LEASED'],
    },
    async ({ params, body, actor }) => {
      const options = { ...actor, waitForBreaker: body?.wait_for_breaker }
      return { body: deadLetterCodec.encode(await hf.deadLetters.replay(params.id, options)) }
    },
  )

  addRoute(
    {
      ...one,
      method: 'put',
      path: '/dead-letters/{id}/payload',
      id: 'editDeadLetterPayload',
      role: 'operator',
      summary: 'Replaces the payload that replays of a dead letter use',
      description:
        '`original_payload` stays, and replays use `edited_payload`. A payload that equals the original one removes the ' +
        'edited one. The audit record names the changed fields, not their values. Requires the role operator.',
      body: z
        .strictObject({
          payload: z.unknown().describe('The new payload: any JSON except null.'),
          reason: reasonField,
        })
        .meta({ id: 'PayloadEdit' }),
      responses: { 200: { description: 'The dead letter', schema: recordSchemas.deadLetter } },
      errors: ['DEAD_LETTER_LEASED', 'PAYLOAD_TOO_LARGE'],
    },
    async ({ params, body, actor }) => ({
      body: deadLetterCodec.encode(await hf.deadLetters.edit(params.id, body.payload, actor)),
    }),
  )
}
