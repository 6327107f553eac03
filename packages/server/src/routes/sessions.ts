import { sessionCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/errors.js'
import type { Routes } from './routes.js'
import {
  booleanParam,
  idParam,
  optionalWord,
  orderParam,
  pageSchema,
  pagingParams,
  reasonBody,
  recordSchemas,
  timeRangeParams,
} from './schemas.js'

/** Calls that failed at least once: those that run, and those that ended. */
export function addSessionRoutes({ hf, operation }: Routes): void {
  const tag = 'sessions'

  operation(
    {
      method: 'get',
      path: '/sessions',
      id: 'listSessions',
      tag,
      role: 'viewer',
      reads: 'session.read',
      summary: 'Calls that failed at least once, newest first',
      description:
        '`active=true` lists those that run now, with the time of their next attempt. Takes the role viewer.',
      query: z.strictObject({
        ...pagingParams,
        ...timeRangeParams,
        order: orderParam,
        active: booleanParam,
        success: booleanParam,
        operation: optionalWord,
        subsystem: optionalWord,
        policy_id: optionalWord,
        correlation_id: optionalWord,
      }),
      answers: { 200: { description: 'A page of sessions', schema: pageSchema(recordSchemas.session) } },
    },
    async ({ query: { policy_id, correlation_id, ...query } }) => {
      const filter = { ...query, policyId: policy_id, correlationId: correlation_id }
      const { items, ...rest } = await hf.sessions.list(filter)
      return { body: { items: items.map(sessionCodec.encode), ...rest } }
    },
  )

  const one = { tag, params: z.object({ id: idParam }) } as const
  const unknown = (name: string) =>
    new ApiError('NOT_FOUND', `there is no session ${name}: it never failed, or is no longer kept`)

  operation(
    {
      ...one,
      method: 'get',
      path: '/sessions/{id}',
      id: 'getSession',
      role: 'viewer',
      reads: 'session.read',
      summary: 'One session with all its attempts',
      answers: { 200: { description: 'The session', schema: recordSchemas.session } },
    },
    async ({ params }) => {
      const session = await hf.sessions.get(params.id)
      if (session === undefined) throw unknown(params.id)
      return { body: sessionCodec.encode(session) }
    },
  )

  operation(
    {
      ...one,
      method: 'post',
      path: '/sessions/{id}/cancel',
      id: 'cancelSession',
      role: 'operator',
      summary: 'Cancels a call that runs: it rejects with CANCELLED',
      optionalBody: reasonBody,
      answers: {
        200: {
          description: 'Whether it was running',
          schema: z.object({ session_id: z.string(), cancelled: z.boolean() }),
        },
      },
    },
    async ({ params, by }) => {
      const cancelled = await hf.sessions.cancel(params.id, by)
      if (!cancelled && (await hf.sessions.get(params.id)) === undefined) throw unknown(params.id)
      return { body: { session_id: params.id, cancelled } }
    },
  )
}
