import { EVENT_TYPES } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { findCaller, type KnownTokens } from '../auth/tokens.js'
import { createSelection } from '../events/reader.js'
import { ApiError } from '../http/errors.js'
import type { Routes } from './routes.js'
import { repeatableParam } from './schemas.js'

/** Events as they happen. */
export function addEventRoutes({ operation, feed, settings }: Routes): void {
  const mark = z.string().min(1).max(200).optional()

  operation(
    {
      method: 'get',
      path: '/events',
      id: 'streamEvents',
      tag: 'events',
      role: 'viewer',
      summary: 'Server-sent events, from now on or from where a reader was',
      description:
        'Each event has its `event_id` as id and its type as event; data is the event as JSON. Last-Event-ID, as header or ' +
        'as the parameter `last_event_id`, goes on after that event, without a gap while it is kept. A comment is a sign ' +
        'of life. A reader that does not keep up is cut off and may come back. Takes the role viewer.',
      headers: z.object({ 'last-event-id': mark }),
      query: z.strictObject({
        type: repeatableParam(z.enum(EVENT_TYPES)),
        operation: repeatableParam(z.string().min(1).max(500)),
        last_event_id: mark,
      }),
      answers: { 200: { description: 'A stream that does not end', type: 'text/event-stream' } },
    },
    ({ query, headers, caller, c }) => {
      if (feed.size >= settings.maxReaders)
        throw new ApiError('RATE_LIMITED', `${feed.size} are reading already, and no more may`, {
          headers: { 'retry-after': '10' },
        })
      const shown = c.req.header('authorization')?.slice('bearer '.length)
      const allowed = (known: KnownTokens) =>
        caller.token ? findCaller(known, shown)?.name === caller.name : known.length === 0
      const choice = createSelection(query.type, query.operation)
      const stream = feed.open(choice, headers['last-event-id'] ?? query.last_event_id, allowed)
      return c.body(stream, 200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    },
  )
}
