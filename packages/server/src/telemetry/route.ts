import {
  EventCounters,
  EXPOSITION_CONTENT_TYPE,
  formatExposition,
  readMetrics,
} from '@holdfast/runtime/internal'
import type { MiddlewareHandler } from 'hono'
import type { App, Env } from '../http/env.js'
import type { AppSettings } from '../options.js'
import { COMMON_ERRORS, errorResponses } from '../routes/add-route.js'
import type { HoldfastLike } from '../runtime-api.js'

/** Adds `/metrics` to an app. The function that it returns removes the listeners. */
export function addMetrics(
  app: App,
  hf: HoldfastLike,
  settings: AppSettings,
  authentication: MiddlewareHandler<Env>,
): () => void {
  const counters = new EventCounters(hf)
  app.openAPIRegistry.registerPath({
    method: 'get',
    path: '/metrics',
    operationId: 'getMetrics',
    tags: ['metrics'],
    summary: 'All metrics in the text format of Prometheus',
    description: 'Requires the role viewer.',
    'x-role': 'viewer',
    security: [{ bearer: [] }, {}],
    responses: {
      200: {
        description: 'The metrics',
        content: { [EXPOSITION_CONTENT_TYPE]: { schema: { type: 'string' } } },
      },
      ...errorResponses(COMMON_ERRORS),
    },
  })
  app.use('/metrics', authentication)
  app.get('/metrics', async (c) => {
    const text = await formatExposition(await readMetrics(hf, counters, settings.clock))
    return c.body(text, 200, { 'content-type': EXPOSITION_CONTENT_TYPE })
  })
  return () => counters.close()
}
