import { addressOf, type FetchInput, parseUrl } from './target.js'

/**
 * The context of a request for events, the fallback, a breaker's `key` and a pool's strategy; `init.context` adds to it. It
 * is plain data without secrets.
 */
export interface FetchContext {
  /** The method in upper case. */
  readonly method: string
  /** The origin of the request, such as `'https://api.example'`; empty if the URL cannot be parsed. */
  readonly origin: string
  /** The URL without credentials, fragment, query values, and path segments that look like a key. */
  readonly url: string
  /** The session; the strategy `sticky` of a pool sends the requests of one session to one member. */
  readonly session?: string
  /** The region in which the strategy `region` of a pool prefers members. */
  readonly region?: string
}

/** The text in place of a secret. */
export const REDACTED = '[redacted]'

export function createFetchContext(method: string, input: FetchInput): FetchContext {
  const url = parseUrl(input)
  if (url !== undefined) return { method, origin: url.origin, url: url.origin + redactedPath(url) }
  // A relative URL outside of a browser: only the origin of a pool member can complete it.
  const address = addressOf(input)
  const isRelative = URL.canParse(address, RELATIVE_BASE)
  return { method, origin: '', url: isRelative ? redactedPath(new URL(address, RELATIVE_BASE)) : '' }
}

/** A base that makes a relative URL parseable. */
const RELATIVE_BASE = 'http://relative'

/** Redacts long path segments of letters and digits, because some services take a key in the path, and query values. */
const redactedPath = ({ pathname, search }: URL): string =>
  pathname.replace(/[^/]{20,}/g, (part) => (/\d/.test(part) && /[a-z]/i.test(part) ? REDACTED : part)) +
  search.replace(/([?&])([^&=]*=)?[^&]+/g, (_, mark: string, name = '') => `${mark}${name}${REDACTED}`)
