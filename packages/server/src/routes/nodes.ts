import { z } from '@hono/zod-openapi'
import type { Routes } from './routes.js'

const nodeSchema = z
  .object({
    id: z.string().describe('The id of the node.'),
    version: z.string().describe('The version that it runs.'),
    started_at: z.iso.datetime().describe('When the node started.'),
    last_seen: z.iso.datetime().describe('When its last heartbeat was sent.'),
    self: z.boolean().describe('Whether this process sent the response.'),
    opinions: z
      .record(z.string(), z.enum(['open', 'half_open']))
      .describe('The states of its breakers that are not closed, by id.'),
  })
  .meta({ id: 'Node' })

const nodesSchema = z.object({
  items: z.array(nodeSchema),
  shared: z
    .object({ up: z.boolean(), lost_since: z.iso.datetime().nullish() })
    .optional()
    .describe(
      'The connection of this process to the shared state; absent without `shared` in the configuration.',
    ),
})

/** A process of the fleet, as on the wire. */
export type WireNode = z.input<typeof nodeSchema>

/** The processes of the fleet, as on the wire. */
export type WireFleet = z.input<typeof nodesSchema>

/** The route of the processes of the fleet. */
export function addNodeRoutes({ hf, addRoute }: Routes): void {
  addRoute(
    {
      method: 'get',
      path: '/nodes',
      id: 'listNodes',
      tag: 'nodes',
      role: 'viewer',
      summary: 'The processes of the fleet with the states of their breakers',
      description:
        'Only this process without `shared` in the configuration, and while the shared state cannot be reached. ' +
        'Requires the role viewer.',
      responses: { 200: { description: 'The live processes, ordered by id', schema: nodesSchema } },
    },
    async () => {
      const status = hf.fleet?.status()
      const items = (await hf.nodes()).map(({ id, version, startedAt, lastSeen, opinions }) => ({
        id,
        version,
        started_at: startedAt.toISOString(),
        last_seen: lastSeen.toISOString(),
        self: status === undefined || status.node === id,
        opinions,
      }))
      if (status === undefined) return { body: { items } }
      const lost = status.lostSince?.toISOString()
      const shared = { up: status.up, ...(lost === undefined ? {} : { lost_since: lost }) }
      return { body: { items, shared } }
    },
  )
}
