import type { AppOptions } from '../options.js'
import type { HoldfastLike } from '../runtime-api.js'
import { buildApp } from './build-app.js'

/**
 * An app that handles web-standard requests. It is a Hono app; its type declares only what a server needs, so that
 * programs compile without the declarations of Hono, which require a later TypeScript than this package.
 */
export interface HttpApp {
  /** Handles a request. `env.incoming` is the message of Node, whose socket has the address of the client. */
  fetch(request: Request, env?: object): Response | Promise<Response>
  /** Handles a request that is created from the arguments, without a server. */
  request(input: string | URL | Request, init?: RequestInit, env?: object): Response | Promise<Response>
}

/** An app with `close`, which ends the readers of its event stream and its timers. */
export interface ClosableApp extends HttpApp {
  /** Ends the readers of the event stream and the timers. */
  close(): Promise<void>
}

/**
 * Creates a Hono app for a runtime: REST under `/api/v1`, the event stream, `/health`, `/openapi.json`, `/docs` and the
 * dashboard. Use it with a server of your own; `serve` also starts and closes a server.
 *
 * Set `host` to the address at which your server listens, because access without a token depends on it.
 *
 * @throws INVALID_OPTIONS that lists every problem of the options
 *
 * @example
 * ```ts
 * import { Holdfast } from '@holdfast/runtime'
 * import { createApp } from '@holdfast/server'
 *
 * const hf = await Holdfast.open({ config: { version: '1.2.0' } })
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
