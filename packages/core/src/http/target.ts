import type { FetchFunction } from './options.js'

/**
 * The value of a pool member for a fetch, with at least one of these properties. An absent property leaves the request
 * unchanged. A plain object must not have other keys; an instance of a class can.
 */
export interface FetchTarget {
  /**
   * Replaces the origin of the request; path and query remain: `'https://eu.example'`. A path in it is prepended to the path
   * of the request: `'https://eu.example/v1'` and `/chat` give `https://eu.example/v1/chat`, with one slash between the two.
   */
  readonly origin?: string | URL | undefined
  /** The function that sends the requests of this member. */
  readonly fetch?: FetchFunction | undefined
  /** The dispatcher for undici's fetch: an Agent, a ProxyAgent. */
  readonly dispatcher?: object | undefined
  /**
   * Headers for this member, such as its API key. They replace the caller's headers of the same name. They are not sent to
   * another origin by a redirect, and never appear in an event, error or session.
   */
  readonly headers?: RequestInit['headers'] | undefined
}

/** The first argument of fetch. */
export type FetchInput = Parameters<typeof fetch>[0]

export const isRequest = (input: FetchInput): input is Request =>
  typeof input === 'object' && 'clone' in input

/** The URL in the first argument of fetch; it can be relative. */
export function addressOf(input: FetchInput): string {
  return typeof input === 'string' ? input : isRequest(input) ? input.url : input.href
}

/** Parses the URL of a request, a relative one against that of the page in a browser; undefined if it is invalid. */
export function parseUrl(input: FetchInput): URL | undefined {
  const page = (globalThis as { location?: { href?: string } }).location?.href
  const address = addressOf(input)
  return URL.canParse(address, page) ? new URL(address, page) : undefined
}

/** Moves path and query to another origin, after the path of that origin. */
export function withOrigin(input: FetchInput, origin: string | URL): URL {
  const target = new URL(origin)
  const { pathname, search } = parseUrl(input) ?? new URL(addressOf(input), target.origin)
  target.pathname = joinPaths(target.pathname, pathname)
  target.search = search
  return target
}

/** Joins two paths with one slash between them. */
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

/** The properties of a Request except URL and body, as `init` for another request. */
export function requestInitOf(request: Request): RequestInit {
  return Object.fromEntries(COPIED_REQUEST_FIELDS.map((name) => [name, request[name]]))
}
