import type { FetchFunction } from './options.js'

/**
 * A pool's member as a fetch uses it: at least one of these. What it leaves out stays as it is in the request. A plain
 * object may have no other keys; an object of a class may.
 */
export interface FetchTarget {
  /**
   * Another origin for the same path and query: `'https://eu.example'`. A path in it goes before that of the request:
   * `'https://eu.example/v1'` and `/chat` make `https://eu.example/v1/chat`, with one slash between the two.
   */
  readonly origin?: string | URL | undefined
  /** Another fetch to send with. */
  readonly fetch?: FetchFunction | undefined
  /** What undici's fetch sends through: an Agent, a ProxyAgent. */
  readonly dispatcher?: object | undefined
  /**
   * Headers for this member, such as its API key. They replace those of the same name that the caller gave, are not sent
   * along with a redirect to another origin, and are in no event, error or session.
   */
  readonly headers?: RequestInit['headers'] | undefined
}

/** Where a request goes, or to. */
export type FetchInput = Parameters<typeof fetch>[0]

export const isRequest = (input: FetchInput): input is Request =>
  typeof input === 'object' && 'clone' in input

/** The address in what fetch is given; it may be relative where there is a page. */
export function addressOf(input: FetchInput): string {
  return typeof input === 'string' ? input : isRequest(input) ? input.url : input.href
}

/** An address as far as it can be read; a relative one is read against that of the page. */
export function parseUrl(input: FetchInput): URL | undefined {
  const page = (globalThis as { location?: { href?: string } }).location?.href
  const address = addressOf(input)
  return URL.canParse(address, page) ? new URL(address, page) : undefined
}

/** The same path and query at another origin, behind the path that the origin has. */
export function withOrigin(input: FetchInput, origin: string | URL): URL {
  const target = new URL(origin)
  const { pathname, search } = parseUrl(input) ?? new URL(addressOf(input), target.origin)
  target.pathname = joinPaths(target.pathname, pathname)
  target.search = search
  return target
}

/** A path behind another, with one slash between the two. */
export const joinPaths = (base: string, path: string): string => base.replace(/\/$/, '') + path

const COPIED_REQUEST_FIELDS = [
  'method',
  'headers',
  'redirect',
  'credentials',
  'cache',
  'integrity',
  'keepalive',
  'referrer',
  'referrerPolicy',
  'signal',
] as const

/** What a Request says besides its address and body, as `init` for another. */
export function requestInitOf(request: Request): RequestInit {
  return Object.fromEntries(COPIED_REQUEST_FIELDS.map((name) => [name, request[name]]))
}
