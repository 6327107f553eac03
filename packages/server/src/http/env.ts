import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Caller } from '../roles.js'

/** The values that middleware attaches to a request, and the bindings of the Node server. */
export interface Env {
  Variables: { caller: Caller; requestId: string }
  Bindings: { incoming?: { socket?: { remoteAddress?: string } } }
}

export type App = OpenAPIHono<Env>
