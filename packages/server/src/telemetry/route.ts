import type { MiddlewareHandler } from 'hono'
import type { App, Env } from '../http/env.js'
import type { AppSettings } from '../options.js'
import type { HoldfastLike } from '../runtime-api.js'
import { EventCounters } from './event-counters.js'
import { EXPOSITION_CONTENT_TYPE, formatExposition } from './exposition.js'
import { readMetrics } from './read.js'

/** Adds `/metrics` to an app, for whoever may look at it. The function it returns lets go of what it listens to. */
export function addMetrics(
  app: App,
  hf: HoldfastLike,
  settings: AppSettings,
  door: MiddlewareHandler<Env>,
): () => void {
  const tallies = new EventCounters(hf)
  app.use('/metrics', door)
  app.get('/metrics', async (c) => {
    const text = formatExposition(await readMetrics(hf, tallies, settings.clock))
    return c.body(text, 200, { 'content-type': EXPOSITION_CONTENT_TYPE })
  })
  return () => tallies.close()
}
