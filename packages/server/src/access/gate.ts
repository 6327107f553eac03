import { CredentialThrottle } from 'holdfast/internal'
import type { MiddlewareHandler } from 'hono'
import { Refusal, retryAfter } from '../answer/failure.js'
import type { HoldfastLike } from '../hf.js'
import type { AppSettings } from '../options.js'
import type { Env } from '../routes/operation.js'
import { demandThisMachine, isLoopback } from './machine.js'
import type { Caller } from './roles.js'
import { knownTokens, whoShows } from './tokens.js'

const CHALLENGE = { 'www-authenticate': 'Bearer realm="holdfast"' }

/** What a request shows of a token; undefined where it shows none. */
const shownBy = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : (/^bearer +(\S+) *$/i.exec(header)?.[1] ?? '')

/** @throws RATE_LIMITED where an address is to keep quiet for so long (ms) */
function demandQuiet(wait: number): void {
  if (wait > 0)
    throw new Refusal('RATE_LIMITED', 'too many wrong tokens from this address', {
      headers: retryAfter(wait),
    })
}

/** Finds out who asks, or refuses. `local` is who is let in where no token is needed. */
export function gate(hf: HoldfastLike, settings: AppSettings, local: Caller): MiddlewareHandler<Env> {
  const throttle = new CredentialThrottle(settings.clock)
  const open = isLoopback(settings.host)
  return async (c, next) => {
    const header = (name: string) => c.req.header(name)
    const remote = c.env?.incoming?.socket?.remoteAddress
    const address = remote ?? 'unknown'
    const shown = shownBy(header('authorization'))
    const known = await knownTokens(hf.store.values)
    const caller = whoShows(known, shown)
    if (caller !== undefined) {
      // Behind a proxy on this machine everybody has its address, and nobody may lock out the others.
      if (remote !== undefined && !isLoopback(remote))
        demandQuiet(throttle.recordSuccess(address, caller.name))
      c.set('caller', caller)
    } else if (known.length === 0 && open) {
      const { host, protocol } = new URL(c.req.url)
      const from = {
        hosts: [host, header('host')],
        // No page of another site can say this of its own request without being asked to by the server first.
        scheme: header('x-forwarded-proto') ?? protocol.slice(0, -1),
        origin: header('origin'),
        fetchSite: header('sec-fetch-site'),
        remote,
      }
      demandThisMachine(from, settings.allowedHosts)
      c.set('caller', local)
    } else {
      if (shown !== undefined) demandQuiet(throttle.recordFailure(address))
      throw new Refusal(
        'UNAUTHORIZED',
        shown === undefined
          ? 'expected a token in the header Authorization as Bearer TOKEN, got none (holdfast token create NAME --role viewer creates one)'
          : 'the token is not valid: it may have been revoked',
        { headers: CHALLENGE },
      )
    }
    await next()
  }
}
