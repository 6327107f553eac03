import type { Context } from 'hono'
import type { Env } from './env.js'

/**
 * The scheme that the client uses, `http` or `https`: to this server, or to the first of the proxies in front of it. Several
 * proxies each add a value to the header, separated by commas.
 */
export function schemeOf(c: Context<Env>): string {
  const [first = ''] = (c.req.header('x-forwarded-proto') ?? '').split(',')
  return first.trim().toLowerCase() || new URL(c.req.url).protocol.slice(0, -1)
}
