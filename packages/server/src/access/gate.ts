import type { MiddlewareHandler } from 'hono'
import { Refusal, retryAfter } from '../answer/failure.js'
import type { HoldfastLike } from '../hf.js'
import type { AppSettings } from '../options.js'
import type { Env } from '../routes/operation.js'
import { Failures } from './failures.js'
import { demandThisMachine, isLoopback } from './machine.js'
import { LOCAL } from './roles.js'
import { recognise } from './tokens.js'

const CHALLENGE = { 'www-authenticate': 'Bearer realm="holdfast"' }

/** What a request shows of a token; undefined where it shows none. */
const shownBy = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : (/^bearer +(\S+) *$/i.exec(header)?.[1] ?? '')

/** Finds out who asks, or refuses. */
export function gate(hf: HoldfastLike, settings: AppSettings): MiddlewareHandler<Env> {
  const failures = new Failures(settings.clock)
  const open = isLoopback(settings.host)
  return async (c, next) => {
    const header = (name: string) => c.req.header(name)
    const remote = c.env?.incoming?.socket?.remoteAddress
    const shown = shownBy(header('authorization'))
    const { any, caller } = await recognise(hf.store.values, shown)
    if (caller !== undefined) c.set('caller', caller)
    else if (!any && open) {
      const from = {
        hosts: [new URL(c.req.url).host, header('host')],
        origin: header('origin'),
        fetchSite: header('sec-fetch-site'),
        remote,
      }
      demandThisMachine(from, settings.allowedHosts)
      c.set('caller', LOCAL)
    } else {
      const wait = shown === undefined ? 0 : failures.note(remote ?? 'unknown')
      if (wait > 0)
        throw new Refusal('RATE_LIMITED', 'too many wrong tokens from this address', {
          headers: retryAfter(wait),
        })
      throw new Refusal(
        'UNAUTHORIZED',
        shown === undefined
          ? 'a token is needed, in the header Authorization as Bearer TOKEN (holdfast token create NAME --role viewer makes one)'
          : 'this token is not known: it may be revoked, or mistyped',
        { headers: CHALLENGE },
      )
    }
    await next()
  }
}
