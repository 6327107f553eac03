import { isIP } from 'node:net'
import { ApiError } from '../http/errors.js'

/** Whether an address is reached from this machine alone. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true
  const v4 = bare.replace(/^::ffff:/, '')
  if (isIP(v4) === 4) return v4.startsWith('127.')
  return isIP(bare) === 6 && /^(0*:)*:?0*1$/.test(bare)
}

/** What of a request tells where it comes from. */
export interface RequestOrigin {
  /** What the request calls this machine, wherever it does. */
  readonly hosts: readonly (string | undefined)[]
  /** `http` or `https`: as the browser speaks, to this server or to one before it. */
  readonly scheme: string
  readonly origin: string | undefined
  readonly fetchSite: string | undefined
  readonly remote: string | undefined
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/**
 * Where no token is asked for, being on this machine is what lets a caller in, and a page in the browser of its user is
 * there too. A name that somebody else's DNS points to this machine is told by the Host header, a page of another site by
 * Origin and Sec-Fetch-Site.
 *
 * @throws FORBIDDEN
 */
export function assertLocalRequest(from: RequestOrigin, allowedHosts: readonly string[]): void {
  const { hosts, scheme, origin, fetchSite, remote } = from
  const make =
    'create a token for access from other machines and sites (holdfast token create NAME --role viewer)'
  if (remote !== undefined && !isLoopback(remote))
    throw new ApiError('FORBIDDEN', `without a token only clients on this machine are allowed; ${make}`)
  const isOurs = (host: string | undefined) => {
    if (host === undefined) return true
    const name = parseUrl(`http://${host}`)?.hostname ?? ''
    return isLoopback(name) || allowedHosts.includes(name)
  }
  if (!hosts.every(isOurs))
    throw new ApiError('FORBIDDEN', `expected the Host header to name this machine; ${make}`)
  const own = parseUrl(`${scheme}://${hosts.findLast((host) => host !== undefined)}`)?.origin
  const foreign = origin !== undefined && (own === undefined || parseUrl(origin)?.origin !== own)
  if (foreign || (fetchSite !== undefined && !['same-origin', 'none'].includes(fetchSite)))
    throw new ApiError('FORBIDDEN', `requests from pages of other sites are not allowed; ${make}`)
}
