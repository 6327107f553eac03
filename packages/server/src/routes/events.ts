import { EVENT_TYPES } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { bearerToken } from '../auth/authenticate.js'
import { readSignInCookie } from '../auth/cookie.js'
import { findSignedIn, type KnownCredentials } from '../auth/sign-ins.js'
import { findCaller } from '../auth/tokens.js'
import { createSelection } from '../events/reader.js'
import { ApiError } from '../http/api-error.js'
import type { Routes } from './routes.js'
import { repeatableParam } from './schemas.js'

/** The route of the live event stream. */
export function addEventRoutes({ addRoute, feed, settings }: Routes): void {
  const eventId = z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('The id of the last event that the client has; the stream continues after it.')

  addRoute(
    {
      method: 'get',
      path: '/events',
      id: 'streamEvents',
      tag: 'events',
      role: 'viewer',
      summary: 'Server-sent events, from now on or after a given event',
      description:
        'Each event has its `event_id` as id and its type as event; data is the event as JSON. Last-Event-ID, as header or ' +
        'as the parameter `last_event_id`, continues after that event, without a gap as long as the event is kept. Comments are ' +
        'heartbeats. A reader that is too slow is disconnected and can reconnect. Requires the role viewer.',
      headers: z.object({ 'last-event-id': eventId }),
      query: z.strictObject({
        type: repeatableParam(z.enum(EVENT_TYPES), 'Only events of these types.'),
        operation: repeatableParam(z.string().min(1).max(500), 'Only events of these operations.'),
        last_event_id: eventId,
      }),
      responses: { 200: { description: 'A stream that does not end', type: 'text/event-stream' } },
    },
    ({ query, headers, caller, honoContext }) => {
      if (feed.size >= settings.maxReaders)
        throw new ApiError(
          'RATE_LIMITED',
          `expected at most ${settings.maxReaders} readers of the event stream, got one more`,
          {
            headers: { 'retry-after': '10' },
          },
        )
      const token = bearerToken(honoContext.req.header('authorization'))
      const secret = token === undefined ? readSignInCookie(honoContext) : undefined
      const isAllowed = (known: KnownCredentials) => {
        if (!caller.token) return known.tokens.length === 0
        const found =
          secret === undefined
            ? findCaller(known.tokens, token)
            : findSignedIn(known, secret, settings.clock.wall())
        return found?.name === caller.name
      }
      const { method, signal } = honoContext.req.raw
      honoContext.header('content-type', 'text/event-stream')
      honoContext.header('x-accel-buffering', 'no')
      // Nothing would read the stream of a HEAD request or of a client that has disconnected, so it would stay open.
      if (method === 'HEAD' || signal.aborted) return honoContext.body(null)
      const selection = createSelection(query.type, query.operation)
      const lastEventId = headers['last-event-id'] ?? query.last_event_id
      return honoContext.body(feed.open(selection, lastEventId, isAllowed, signal))
    },
  )
}
