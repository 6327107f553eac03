import { CredentialThrottle } from 'holdfast/internal'
import type { Context, MiddlewareHandler } from 'hono'
import { ApiError, retryAfterHeader } from '../http/api-error.js'
import type { Env } from '../http/env.js'
import { schemeOf } from '../http/scheme.js'
import type { AppSettings } from '../options.js'
import type { Caller } from '../roles.js'
import type { HoldfastLike } from '../runtime-api.js'
import { readSignInCookie, signOutCookie } from './cookie.js'
import { assertLocalRequest, isLoopback } from './local-request.js'
import { isCsrfTokenOf, readSignedIn } from './sign-ins.js'
import { findCaller, knownTokens } from './tokens.js'

const CHALLENGE = { 'www-authenticate': 'Bearer realm="holdfast"' }

/** The token of an Authorization header: undefined without a header, empty where it is not a bearer token. */
export const bearerToken = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : (/^bearer +(\S+) *$/i.exec(header)?.[1] ?? '')

/** @throws RATE_LIMITED where an address has to wait (milliseconds) */
function rejectIfThrottled(wait: number): void {
  if (wait > 0)
    throw new ApiError('RATE_LIMITED', 'too many wrong tokens from this address', {
      headers: retryAfterHeader(wait),
    })
}

/** The methods that change nothing. */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Checks a request that is authenticated by the cookie, which the browser also sends for pages of other sites and ports. Such a
 * page cannot read the CSRF token, and the browser marks its requests in Sec-Fetch-Site.
 *
 * @throws FORBIDDEN
 */
function assertSameOrigin(c: Context<Env>, secret: string): void {
  const site = c.req.header('sec-fetch-site')
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new ApiError('FORBIDDEN', 'requests from pages of other sites are not allowed with a cookie')
  const csrfToken = c.req.header('x-csrf-token')
  if (!SAFE_METHODS.has(c.req.method) && !isCsrfTokenOf(secret, csrfToken))
    throw new ApiError(
      'FORBIDDEN',
      `expected the csrf_token of GET /api/v1/access in the header x-csrf-token, got ${csrfToken === undefined ? 'none' : 'another'}`,
    )
}

/** Creates the middleware that authenticates requests. `local` is the caller of requests that require no token. */
export function authenticate(hf: HoldfastLike, settings: AppSettings, local: Caller): MiddlewareHandler<Env> {
  const throttle = new CredentialThrottle(settings.clock)
  const isOpen = isLoopback(settings.host)
  return async (c, next) => {
    const header = (name: string) => c.req.header(name)
    const remote = c.env?.incoming?.socket?.remoteAddress
    const address = remote ?? 'unknown'
    const token = bearerToken(header('authorization'))
    const { values } = hf.store
    const known = await knownTokens(values)
    // A request with both is authenticated by its token, as a program sends it.
    const secret = token === undefined && known.length > 0 ? readSignInCookie(c) : undefined
    const caller =
      secret === undefined
        ? findCaller(known, token)
        : await readSignedIn(values, known, secret, settings.clock.wall())
    if (caller !== undefined) {
      if (secret !== undefined) assertSameOrigin(c, secret)
      // Clients behind a proxy on this machine share its address: one of them must not lock out the others.
      if (remote !== undefined && !isLoopback(remote))
        rejectIfThrottled(throttle.recordSuccess(address, caller.name))
      c.set('caller', caller)
    } else if (known.length === 0 && isOpen) {
      const { host } = new URL(c.req.url)
      const from = {
        hosts: [host, header('host')],
        // A page of another site cannot set this header without a preflight request.
        scheme: schemeOf(c),
        origin: header('origin'),
        fetchSite: header('sec-fetch-site'),
        remote,
      }
      assertLocalRequest(from, settings.allowedHosts)
      c.set('caller', local)
    } else {
      if (token !== undefined) rejectIfThrottled(throttle.recordFailure(address))
      throw new ApiError(
        'UNAUTHORIZED',
        secret !== undefined
          ? 'the sign-in has ended: it has expired, or the token was revoked'
          : token === undefined
            ? 'expected a token in the header Authorization as Bearer TOKEN, got none (holdfast token create NAME --role viewer creates one)'
            : 'the token is not valid: it may have been revoked',
        { headers: { ...CHALLENGE, ...(secret === undefined ? {} : signOutCookie(c)) } },
      )
    }
    await next()
  }
}
