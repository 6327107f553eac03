import { z } from '@hono/zod-openapi'
import type { Routes } from './routes.js'

const nodeSchema = z
  .object({
    id: z.string(),
    version: z.string(),
    started_at: z.iso.datetime(),
    last_seen: z.iso.datetime(),
    self: z.boolean().describe('Whether it is the process that answers.'),
    opinions: z
      .record(z.string(), z.enum(['open', 'half_open']))
      .describe('Its breakers that are not closed, by id.'),
  })
  .meta({ id: 'Node' })

const nodesSchema = z.object({
  items: z.array(nodeSchema),
  shared: z
    .object({ up: z.boolean(), lost_since: z.iso.datetime().nullish() })
    .optional()
    .describe('How this process stands with what they share; absent where it shares nothing.'),
})

/** The processes of the fleet. */
export function addNodeRoutes({ hf, operation }: Routes): void {
  operation(
    {
      method: 'get',
      path: '/nodes',
      id: 'listNodes',
      tag: 'nodes',
      role: 'viewer',
      summary: 'The processes that share what they know, and what each thinks of breakers',
      description:
        'This process alone where the configuration says nothing of `shared`, and while what is shared cannot be reached. ' +
        'Takes the role viewer.',
      answers: { 200: { description: 'The processes that live, by id', schema: nodesSchema } },
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
