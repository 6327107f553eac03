import { addressOf, type FetchInput, parseUrl } from './target.js'

/**
 * What events, the fallback, a breaker's `key` and a pool's strategy are told of a request, besides what `init.context`
 * adds. It is plain data without secrets.
 */
export interface FetchContext {
  /** The method, in capitals. */
  readonly method: string
  /** Where the request goes, `'https://api.example'`; empty where that cannot be read. */
  readonly origin: string
  /** The address without credentials, fragment, the values of the query, and parts of the path that look like a key. */
  readonly url: string
  /** A pool's `sticky` sends requests of one session to one member. */
  readonly session?: string
  /** Where a pool's `region` prefers members to be. */
  readonly region?: string
}

const REDACTED = '[redacted]'

/** Makes the context of a request. */
export function createFetchContext(method: string, input: FetchInput): FetchContext {
  const url = parseUrl(input)
  if (url !== undefined) return { method, origin: url.origin, url: url.origin + redactedPath(url) }
  // A relative address where there is no page: only a pool's origin makes it a whole one.
  const address = addressOf(input)
  const isRelative = URL.canParse(address, RELATIVE)
  return { method, origin: '', url: isRelative ? redactedPath(new URL(address, RELATIVE)) : '' }
}

/** What a relative address is read against to take it apart. */
const RELATIVE = 'http://relative'

/** Services that take a key in the path have long ones, of letters and digits. */
const redactedPath = ({ pathname, search }: URL): string =>
  pathname.replace(/[^/]{20,}/g, (part) => (/\d/.test(part) && /[a-z]/i.test(part) ? REDACTED : part)) +
  search.replace(/([?&])([^&=]*=)?[^&]+/g, (_, mark: string, name = '') => `${mark}${name}${REDACTED}`)
