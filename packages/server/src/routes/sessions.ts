import { sessionCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { respondWithPage } from '../http/json-list.js'
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

/** The routes of sessions: calls with at least one failed attempt, running or ended. */
export function addSessionRoutes({ hf, addRoute }: Routes): void {
  const tag = 'sessions'

  addRoute(
    {
      method: 'get',
      path: '/sessions',
      id: 'listSessions',
      tag,
      role: 'viewer',
      reads: 'session.read',
      summary: 'Calls with at least one failed attempt, newest first',
      description:
        '`active=true` lists running calls with the time of their next attempt. Requires the role viewer.',
      query: z.strictObject({
        ...pagingParams,
        ...timeRangeParams,
        order: orderParam,
        active: booleanParam('True: only running calls.'),
        success: booleanParam('Only calls that succeeded, or only calls that failed.'),
        operation: optionalWord('Only calls of this operation.'),
        subsystem: optionalWord('Only calls of this subsystem.'),
        policy_id: optionalWord('Only calls of this policy.'),
        correlation_id: optionalWord('Only calls with this correlation id.'),
      }),
      responses: { 200: { description: 'A page of sessions', schema: pageSchema(recordSchemas.session) } },
    },
    async ({ query: { policy_id, correlation_id, ...query }, honoContext }) => {
      const filter = { ...query, policyId: policy_id, correlationId: correlation_id }
      return respondWithPage(honoContext, 'items', await hf.sessions.list(filter), sessionCodec.encode)
    },
  )

  const one = { tag, params: z.object({ id: idParam('The id of the session.') }) } as const
  const createNotFound = (name: string) =>
    new ApiError('NOT_FOUND', `session ${name} not found: the call did not fail, or the session has expired`)

  addRoute(
    {
      ...one,
      method: 'get',
      path: '/sessions/{id}',
      id: 'getSession',
      role: 'viewer',
      reads: 'session.read',
      summary: 'One session with all its attempts',
      responses: { 200: { description: 'The session', schema: recordSchemas.session } },
    },
    async ({ params }) => {
      const session = await hf.sessions.get(params.id)
      if (session === undefined) throw createNotFound(params.id)
      return { body: sessionCodec.encode(session) }
    },
  )

  addRoute(
    {
      ...one,
      method: 'post',
      path: '/sessions/{id}/cancel',
      id: 'cancelSession',
      role: 'operator',
      summary: 'Cancels a running call, which rejects with CANCELLED',
      optionalBody: reasonBody,
      responses: {
        200: {
          description: 'Whether the call was running',
          schema: z.object({ session_id: z.string(), cancelled: z.boolean() }),
        },
      },
    },
    async ({ params, actor }) => {
      const cancelled = await hf.sessions.cancel(params.id, actor)
      if (!cancelled && (await hf.sessions.get(params.id)) === undefined) throw createNotFound(params.id)
      return { body: { session_id: params.id, cancelled } }
    },
  )
}
