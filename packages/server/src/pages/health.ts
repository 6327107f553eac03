import { healthCodec, healthSchema } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import type { App } from '../http/env.js'
import { errorResponseSchema } from '../routes/schemas.js'
import type { HoldfastLike } from '../runtime-api.js'

const statusSchema = z.object({ status: healthSchema.shape.status }).meta({ id: 'Status' })

const livenessSchema = z.object({ status: z.literal('ok').describe('Always `ok`.') }).meta({ id: 'Liveness' })

const readinessSchema = healthSchema.meta({ id: 'Health' })

const jsonContent = (schema: z.ZodType) => ({ 'application/json': { schema } })

const MALFORMED = {
  400: {
    description: 'The URL or the Host header is not valid.',
    content: jsonContent(errorResponseSchema),
  },
}

/** Adds the liveness and readiness endpoints. Process managers call them, so they require no token. */
export function addHealth(app: App, hf: HoldfastLike): void {
  const base = { method: 'get' as const, tags: ['health'], security: [] }

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health/live',
    operationId: 'isLive',
    summary: 'Liveness of the process',
    description: 'Always 200.',
    responses: {
      200: { description: 'The process is alive', content: jsonContent(livenessSchema) },
      ...MALFORMED,
    },
  })
  app.get('/health/live', (c) => c.json({ status: 'ok' }))

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health/ready',
    operationId: 'isReady',
    summary: 'Readiness of the runtime',
    description: '503 before the runtime is open and after it is closed.',
    responses: {
      200: { description: 'The runtime accepts calls', content: jsonContent(readinessSchema) },
      503: { description: 'The runtime does not accept calls', content: jsonContent(readinessSchema) },
      ...MALFORMED,
    },
  })
  const readHealth = async () => {
    const body = healthCodec.encode(await hf.health())
    return { body, code: body.initialized && body.status !== 'closed' ? 200 : 503 } as const
  }
  app.get('/health/ready', async (c) => {
    const { body, code } = await readHealth()
    return c.json(body, code)
  })

  app.openAPIRegistry.registerPath({
    ...base,
    path: '/health',
    operationId: 'getStatus',
    summary: 'Status of the runtime in one word',
    description: '503 in the same cases as `/health/ready`.',
    responses: {
      200: { description: 'The runtime accepts calls', content: jsonContent(statusSchema) },
      503: { description: 'The runtime does not accept calls', content: jsonContent(statusSchema) },
      ...MALFORMED,
    },
  })
  app.get('/health', async (c) => {
    const { body, code } = await readHealth()
    return c.json({ status: body.status }, code)
  })

  // Paths that other tools use for health checks. The dashboard answers unknown paths with 200, which would report a healthy process.
  const rejectOtherPath = (): never => {
    throw new ApiError('NOT_FOUND', 'not found; health is at /health, /health/live and /health/ready')
  }
  for (const path of ['/health/*', '/healthz', '/live', '/livez', '/ready', '/readyz'])
    app.get(path, rejectOtherPath)
}
