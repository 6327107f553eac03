import { healthCodec, healthSchema } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import type { App } from '../http/env.js'
import { ApiError } from '../http/errors.js'
import { errorResponseSchema } from '../routes/schemas.js'
import type { HoldfastLike } from '../runtime-api.js'

const statusSchema = z.object({ status: healthSchema.shape.status }).meta({ id: 'Status' })

const livenessSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' })

const readinessSchema = healthSchema.meta({ id: 'Health' })

const jsonContent = (schema: z.ZodType) => ({ 'application/json': { schema } })

const MALFORMED = {
  400: {
    description: 'The address or the Host header cannot be read.',
    content: jsonContent(errorResponseSchema),
  },
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
    responses: { 200: { description: 'It does', content: jsonContent(livenessSchema) }, ...MALFORMED },
  })
  app.get('/health/live', (c) => c.json({ status: 'ok' }))

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health/ready',
    operationId: 'isReady',
    summary: 'Whether the runtime takes calls',
    description: '503 once it is closed, or before it is open.',
    responses: {
      200: { description: 'It does', content: jsonContent(readinessSchema) },
      503: { description: 'It does not', content: jsonContent(readinessSchema) },
      ...MALFORMED,
    },
  })
  const look = async () => {
    const body = healthCodec.encode(await hf.health())
    return { body, code: body.initialized && body.status !== 'closed' ? 200 : 503 } as const
  }
  app.get('/health/ready', async (c) => {
    const { body, code } = await look()
    return c.json(body, code)
  })

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health',
    operationId: 'getStatus',
    summary: 'How the runtime is, in a word',
    description: '503 where `/health/ready` is.',
    responses: {
      200: { description: 'It takes calls', content: jsonContent(statusSchema) },
      503: { description: 'It does not', content: jsonContent(statusSchema) },
      ...MALFORMED,
    },
  })
  app.get('/health', async (c) => {
    const { body, code } = await look()
    return c.json({ status: body.status }, code)
  })

  // Where others look for the same. The page of the dashboard, which answers whatever it does not know, would be a yes.
  const elsewhere = (): never => {
    throw new ApiError('NOT_FOUND', 'health is at /health, /health/live and /health/ready')
  }
  for (const path of ['/health/*', '/healthz', '/live', '/livez', '/ready', '/readyz'])
    app.get(path, elsewhere)
}
