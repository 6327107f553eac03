import { isIP } from 'node:net'
import { ApiError } from '../http/api-error.js'

/** Whether an address can be reached only from this machine. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (bare === 'localhost' || bare.endsWith('.localhost')) return true
  const v4 = bare.replace(/^::ffff:/, '')
  if (isIP(v4) === 4) return v4.startsWith('127.')
  return isIP(bare) === 6 && /^(0*:)*:?0*1$/.test(bare)
}

/** The parts of a request that tell its origin. */
export interface RequestOrigin {
  /** The host names of the URL and of the Host header. */
  readonly hosts: readonly (string | undefined)[]
  /** `http` or `https`: the scheme between the browser and this server, or a proxy in front of it. */
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
 * Checks a request that has no token and is allowed because it comes from this machine. Pages in a browser of this machine
 * send requests too: DNS rebinding is detected by the Host header, a page of another site by Origin and Sec-Fetch-Site.
 *
 * @throws FORBIDDEN
 */
export function assertLocalRequest(from: RequestOrigin, allowedHosts: readonly string[]): void {
  const { hosts, scheme, origin, fetchSite, remote } = from
  const hint =
    'create a token for access from other machines and sites (holdfast token create NAME --role viewer)'
  if (remote !== undefined && !isLoopback(remote))
    throw new ApiError('FORBIDDEN', `without a token only clients on this machine are allowed; ${hint}`)
  const isThisMachine = (host: string | undefined) => {
    if (host === undefined) return true
    const name = parseUrl(`http://${host}`)?.hostname ?? ''
    return isLoopback(name) || allowedHosts.includes(name)
  }
  if (!hosts.every(isThisMachine))
    throw new ApiError('FORBIDDEN', `expected the Host header to name this machine; ${hint}`)
  const own = parseUrl(`${scheme}://${hosts.findLast((host) => host !== undefined)}`)?.origin
  const isCrossOrigin = origin !== undefined && (own === undefined || parseUrl(origin)?.origin !== own)
  if (isCrossOrigin || (fetchSite !== undefined && !['same-origin', 'none'].includes(fetchSite)))
    throw new ApiError('FORBIDDEN', `requests from pages of other sites are not allowed; ${hint}`)
}
