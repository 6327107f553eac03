import { HOUR_MS } from '@holdfast/records/constants'
import { breakerCodec, breakerEventCodec, breakerSchema } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { respondWithPage } from '../http/json-list.js'
import { paginate } from '../http/page.js'
import type { Routes } from './routes.js'
import {
  hoursParam,
  idParam,
  optionalWord,
  pagingParams,
  reasonBody,
  reasonField,
  recordSchemas,
} from './schemas.js'

/** The longest duration of a trip: 365 days. */
const MAX_TRIP_SECONDS = 365 * 86_400

/** The body of a trip. JSON has no Infinity, so it is a string. */
const tripBody = z
  .strictObject({
    duration: z
      .union([z.number().positive().max(MAX_TRIP_SECONDS), z.literal('Infinity')])
      .optional()
      .describe('How long the breaker stays open, in seconds; the string Infinity until it is reset.'),
    reason: reasonField,
  })
  .meta({ id: 'Trip' })

/** The routes of circuit breakers: states, changes of state, reset and trip. */
export function addBreakerRoutes({ hf, addRoute, settings }: Routes): void {
  const tag = 'circuit breakers'

  addRoute(
    {
      method: 'get',
      path: '/circuit-breakers',
      id: 'listCircuitBreakers',
      tag,
      role: 'viewer',
      summary: 'All breakers, including those that were never used',
      query: z.strictObject({
        ...pagingParams,
        state: breakerSchema.shape.state.optional().describe('Only breakers in this state.'),
        pool: optionalWord('Only breakers of the members of this pool.'),
      }),
      responses: {
        200: {
          description: 'A page of breakers',
          schema: z.object({
            circuit_breakers: z.array(recordSchemas.breaker),
            cursor: z.string().optional(),
          }),
        },
      },
    },
    async ({ query: { state, pool, ...query }, honoContext }) => {
      const ids = await hf.breakers.ids({ state, pool })
      const page = paginate(ids, (id) => id, query)
      // A breaker can be gone by now.
      const items = (await Promise.all(page.items.map((id) => hf.breakers.get(id)))).filter(
        (breaker) => breaker !== undefined,
      )
      return respondWithPage(honoContext, 'circuit_breakers', { ...page, items }, breakerCodec.encode)
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/circuit-breakers/metrics',
      id: 'listCircuitBreakerEvents',
      tag,
      role: 'viewer',
      reads: 'metrics.read',
      summary: 'Changes of state, newest first',
      query: z.strictObject({
        ...pagingParams,
        hours: hoursParam,
        id: optionalWord('Only changes of this breaker.'),
      }),
      responses: {
        200: {
          description: 'Changes of state',
          schema: z.object({ events: z.array(recordSchemas.breakerEvent), cursor: z.string().optional() }),
        },
      },
    },
    async ({ query, honoContext }) => {
      const from = new Date(settings.clock.wall() - query.hours * HOUR_MS)
      const page = await hf.breakers.events({
        from,
        id: query.id,
        limit: query.limit,
        cursor: query.cursor,
      })
      return respondWithPage(honoContext, 'events', page, breakerEventCodec.encode)
    },
  )

  const one = {
    tag,
    params: z.object({
      id: idParam('The id of the breaker: `policy:ID`, `service:NAME` or `pool:POOL:MEMBER`.'),
    }),
  } as const
  const findBreaker = async (name: string) => {
    const breaker = await hf.breakers.get(name)
    if (breaker === undefined)
      throw new ApiError(
        'NOT_FOUND',
        `breaker ${name} not found; GET /api/v1/circuit-breakers lists all breakers`,
      )
    return breaker
  }

  addRoute(
    {
      ...one,
      method: 'get',
      path: '/circuit-breakers/{id}',
      id: 'getCircuitBreaker',
      role: 'viewer',
      summary: 'One breaker',
      responses: { 200: { description: 'The breaker', schema: recordSchemas.breaker } },
    },
    async ({ params }) => ({ body: breakerCodec.encode(await findBreaker(params.id)) }),
  )

  const changed = { 200: { description: 'The breaker after the change', schema: recordSchemas.breaker } }

  addRoute(
    {
      ...one,
      method: 'post',
      path: '/circuit-breakers/{id}/reset',
      id: 'resetCircuitBreaker',
      role: 'operator',
      summary: 'Closes a breaker and clears its failures',
      optionalBody: reasonBody,
      responses: changed,
    },
    async ({ params, actor }) => {
      await findBreaker(params.id)
      return { body: breakerCodec.encode(await hf.breakers.reset(params.id, actor)) }
    },
  )

  addRoute(
    {
      ...one,
      method: 'post',
      path: '/circuit-breakers/{id}/trip',
      id: 'tripCircuitBreaker',
      role: 'operator',
      summary: 'Opens a breaker for a duration, or until it is reset',
      description:
        'Without `duration` the breaker stays open for its open duration. Then the next call is a probe. ' +
        'Requires the role operator.',
      optionalBody: tripBody,
      responses: changed,
    },
    async ({ params, body, actor }) => {
      await findBreaker(params.id)
      const duration = body?.duration
      const trip = duration === undefined ? actor : { ...actor, duration: Number(duration) * 1000 }
      return { body: breakerCodec.encode(await hf.breakers.trip(params.id, trip)) }
    },
  )
}
