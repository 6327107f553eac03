import type { MiddlewareHandler } from 'hono'
import type { Env } from './env.js'

const API_POLICY = "default-src 'none'; frame-ancestors 'none'"

/** The content security policy of pages: resources of this server only, nothing inline. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const DEFAULT_HEADERS: readonly (readonly [string, string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['permissions-policy', 'camera=(), geolocation=(), microphone=()'],
]

/** The headers of responses that are not created by the app. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  ...Object.fromEntries(DEFAULT_HEADERS),
  'content-security-policy': API_POLICY,
  'cache-control': 'no-store',
})

/** Creates the middleware that adds the security headers to every response. */
export function createSecurityHeaders(): MiddlewareHandler<Env> {
  return async (c, next) => {
    await next()
    const { headers } = c.res
    for (const [name, value] of DEFAULT_HEADERS) headers.set(name, value)
    if (!headers.has('content-security-policy')) headers.set('content-security-policy', API_POLICY)
    if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
    if (new URL(c.req.url).protocol === 'https:') headers.set('strict-transport-security', 'max-age=31536000')
  }
}
