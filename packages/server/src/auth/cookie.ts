import type { Context } from 'hono'
import { parse } from 'hono/utils/cookie'
import type { Env } from '../http/env.js'
import { schemeOf } from '../http/scheme.js'

/** Whether the browser uses TLS, to this server or to a reverse proxy in front of it. */
const isSecure = (c: Context<Env>): boolean => schemeOf(c) === 'https'

/**
 * The name of the cookie. Browsers share cookies between the ports of a host, so the name contains the port: several servers
 * on one machine have a sign-in each. With TLS, `__Host-` prevents that a page of another subdomain sets the cookie.
 */
function cookieName(c: Context<Env>): string {
  const port = /:(\d+)$/.exec(c.req.header('host') ?? new URL(c.req.url).host)?.[1]
  return `${isSecure(c) ? '__Host-' : ''}holdfast${port === undefined ? '' : `_${port}`}`
}

/** The secret in the cookie of a request. */
export function readSignInCookie(c: Context<Env>): string | undefined {
  const header = c.req.header('cookie')
  const value = header === undefined ? undefined : parse(header)[cookieName(c)]
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

function formatCookie(c: Context<Env>, value: string, maxAgeSeconds?: number): string {
  const maxAge = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`
  const secure = isSecure(c) ? '; Secure' : ''
  return `${cookieName(c)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${maxAge}`
}

/** The header that stores the secret: until the browser is closed, or for a time. */
export const signInCookie = (c: Context<Env>, secret: string, keptMs?: number): Record<string, string> => ({
  'set-cookie': formatCookie(c, secret, keptMs === undefined ? undefined : keptMs / 1000),
})

/** The header that deletes the cookie. */
export const signOutCookie = (c: Context<Env>): Record<string, string> => ({
  'set-cookie': formatCookie(c, '', 0),
})
