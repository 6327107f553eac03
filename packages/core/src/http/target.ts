import type { FetchFunction } from './options.js'

/** A pool's member as a fetch uses it. What it leaves out stays as it is in the request. */
export interface FetchTarget {
  /** Another origin for the same path: `'https://eu.example'`. */
  readonly origin?: string | URL | undefined
  /** Another fetch to send with. */
  readonly fetch?: FetchFunction | undefined
  /** What undici's fetch sends through: an Agent, a ProxyAgent. */
  readonly dispatcher?: object | undefined
}

/** Where a request goes, or to. */
export type FetchInput = Parameters<typeof fetch>[0]

export const isRequest = (input: FetchInput): input is Request =>
  typeof input === 'object' && 'clone' in input

/** The address in what fetch is given; it may be relative where there is a page. */
function addressOf(input: FetchInput): string {
  return typeof input === 'string' ? input : isRequest(input) ? input.url : input.href
}

/** An address as far as it can be read; a relative one is read against that of the page. */
export function urlOf(input: FetchInput): URL | undefined {
  const page = (globalThis as { location?: { href?: string } }).location?.href
  const address = addressOf(input)
  return URL.canParse(address, page) ? new URL(address, page) : undefined
}

/** The same path and query at another origin. */
export function atOrigin(input: FetchInput, origin: string | URL): URL {
  const url = urlOf(input)
  const { pathname, search } = url ?? new URL(addressOf(input), origin)
  const target = new URL(origin)
  target.pathname = pathname
  target.search = search
  return target
}

const KEPT = [
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
export function partsOf(request: Request): RequestInit {
  return Object.fromEntries(KEPT.map((name) => [name, request[name]]))
}
