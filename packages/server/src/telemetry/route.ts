import type { MiddlewareHandler } from 'hono'
import type { HoldfastLike } from '../hf.js'
import type { AppSettings } from '../options.js'
import type { App, Env } from '../routes/operation.js'
import { EXPOSITION, exposition } from './exposition.js'
import { readMetrics } from './read.js'
import { Tallies } from './tallies.js'

/** Adds `/metrics` to an app, for whoever may look at it. The function it returns lets go of what it listens to. */
export function addMetrics(
  app: App,
  hf: HoldfastLike,
  settings: AppSettings,
  door: MiddlewareHandler<Env>,
): () => void {
  const tallies = new Tallies(hf)
  app.use('/metrics', door)
  app.get('/metrics', async (c) => {
    const text = exposition(await readMetrics(hf, tallies, settings.clock))
    return c.body(text, 200, { 'content-type': EXPOSITION })
  })
  return () => tallies.close()
}
