import { healthCodec, healthSchema } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import type { HoldfastLike } from '../hf.js'
import type { App } from '../routes/operation.js'
import { errorAnswer } from '../routes/shapes.js'

const live = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' })

const ready = healthSchema.meta({ id: 'Health' })

const json = (schema: z.ZodType) => ({ 'application/json': { schema } })

const MALFORMED = {
  400: { description: 'The address or the Host header cannot be read.', content: json(errorAnswer) },
}

/** Whether it runs, and whether it can be used: for those who start and stop processes, so no token is asked for. */
export function addHealth(app: App, hf: HoldfastLike): void {
  const base = { method: 'get' as const, tags: ['health'], security: [] }

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health/live',
    operationId: 'isLive',
    summary: 'Whether the process answers',
    description: 'Always 200.',
    responses: { 200: { description: 'It does', content: json(live) }, ...MALFORMED },
  })
  app.get('/health/live', (c) => c.json({ status: 'ok' }))

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health/ready',
    operationId: 'isReady',
    summary: 'Whether the runtime takes calls',
    description: '503 once it is closed, or before it is open.',
    responses: {
      200: { description: 'It does', content: json(ready) },
      503: { description: 'It does not', content: json(ready) },
      ...MALFORMED,
    },
  })
  app.get('/health/ready', async (c) => {
    const body = healthCodec.encode(await hf.health())
    const { initialized, status } = body
    return c.json(body, initialized && status !== 'closed' ? 200 : 503)
  })
}
