import type { AppOptions } from '../options.js'
import type { HoldfastLike } from '../runtime-api.js'
import { buildApp } from './build-app.js'

/**
 * An app that answers web-standard requests. It is a Hono app; its type names only what every server needs, so that
 * programs compile without Hono's declarations, which need a later TypeScript than ours.
 */
export interface HttpApp {
  /** Answers a request. `env.incoming` is Node's message, whose socket has the address of the caller. */
  fetch(request: Request, env?: object): Response | Promise<Response>
  /** Answers a request that is made of its arguments, without a server. */
  request(input: string | URL | Request, init?: RequestInit, env?: object): Response | Promise<Response>
}

/** An app, and `close`, which ends the readers of its event stream and its timers. */
export interface ClosableApp extends HttpApp {
  close(): Promise<void>
}

/**
 * Makes an app of a runtime, which is a Hono app: REST under `/api/v1`, the event stream, `/health`, `/openapi.json`, `/docs` and the
 * dashboard, for a server of your own. `serve` does the same with a server of its own and closes it properly.
 *
 * Who is let in depends on `host`: say where your server listens.
 *
 * @throws INVALID_OPTIONS that lists everything wrong with the options
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 * import { createApp } from '@holdfast/server'
 *
 * const hf = await Holdfast.open({ config: { version: '1.1.0' } })
 * const app = createApp(hf)
 * const answer = await app.request('http://localhost/api/v1/retry/policy')
 * answer.status // => 200
 * await app.close()
 * await hf.close()
 * ```
 */
export function createApp(hf: HoldfastLike, options: AppOptions = {}): ClosableApp {
  const { app, close } = buildApp(hf, options)
  return Object.assign(app, { close })
}
