import { CredentialThrottle } from 'holdfast/internal'
import type { MiddlewareHandler } from 'hono'
import { ApiError, retryAfterHeader } from '../http/api-error.js'
import type { Env } from '../http/env.js'
import type { AppSettings } from '../options.js'
import type { Caller } from '../roles.js'
import type { HoldfastLike } from '../runtime-api.js'
import { assertLocalRequest, isLoopback } from './local-request.js'
import { findCaller, knownTokens } from './tokens.js'

const CHALLENGE = { 'www-authenticate': 'Bearer realm="holdfast"' }

/** The token of an Authorization header: undefined without a header, empty where it is not a bearer token. */
const bearerToken = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : (/^bearer +(\S+) *$/i.exec(header)?.[1] ?? '')

/** @throws RATE_LIMITED where an address has to wait (milliseconds) */
function rejectIfThrottled(wait: number): void {
  if (wait > 0)
    throw new ApiError('RATE_LIMITED', 'too many wrong tokens from this address', {
      headers: retryAfterHeader(wait),
    })
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
    const known = await knownTokens(hf.store.values)
    const caller = findCaller(known, token)
    if (caller !== undefined) {
      // Clients behind a proxy on this machine share its address: one of them must not lock out the others.
      if (remote !== undefined && !isLoopback(remote))
        rejectIfThrottled(throttle.recordSuccess(address, caller.name))
      c.set('caller', caller)
    } else if (known.length === 0 && isOpen) {
      const { host, protocol } = new URL(c.req.url)
      const from = {
        hosts: [host, header('host')],
        // A page of another site cannot set this header without a preflight request.
        scheme: header('x-forwarded-proto') ?? protocol.slice(0, -1),
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
        token === undefined
          ? 'expected a token in the header Authorization as Bearer TOKEN, got none (holdfast token create NAME --role viewer creates one)'
          : 'the token is not valid: it may have been revoked',
        { headers: CHALLENGE },
      )
    }
    await next()
  }
}
