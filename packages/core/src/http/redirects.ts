import type { Clock } from '../clock.js'
import { isOneShot } from './body.js'
import { discardBody } from './discard.js'
import type { FetchFunction } from './options.js'

/** As many as the fetch standard allows. */
const MAX_REDIRECTS = 20

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

/** Headers that every fetch leaves out when a redirect leads to another origin. */
const CREDENTIAL_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'host']

/** Headers about a body, which go with it. */
const BODY_HEADERS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]

const HIDDEN_REDIRECT =
  'a redirect cannot be followed: the platform hides where it leads, and the headers of the pool member must not be sent to another origin'

/** Whether headers include some that a fetch would send along with a redirect to another origin. */
export const hasOtherHeaders = (headers: Headers): boolean =>
  [...headers.keys()].some((name) => !CREDENTIAL_HEADERS.includes(name))

/** One request whose redirects are followed here. */
export interface RedirectedRequest {
  readonly send: FetchFunction
  readonly url: URL
  readonly init: RequestInit & { readonly headers: Headers }
  /** What the caller gave in place of the member's headers. */
  readonly callerHeaders: Headers
  readonly memberHeaders: Headers
  readonly clock: Clock
  /** Called when the first redirect is followed: from then on the request has arrived. */
  readonly onRedirect: () => void
}

/**
 * Sends a request and follows redirects as fetch does, but leaves the member's headers out where one leads to another
 * origin. A platform that hides redirects (browsers) could only follow them with these headers, so there they are an error.
 */
export async function followRedirects(request: RedirectedRequest): Promise<Response> {
  const { send, memberHeaders, callerHeaders, clock, onRedirect } = request
  let { url } = request
  let init: RequestInit & { headers: Headers } = { ...request.init, redirect: 'manual' }
  for (let count = 0; ; count++) {
    const response = await send(url, init)
    if (response.type === 'opaqueredirect') {
      onRedirect()
      throw createFetchError(HIDDEN_REDIRECT)
    }
    const next = redirectLocation(response, url)
    if (next === undefined) return count === 0 ? response : asRedirected(response)
    void discardBody(response, clock)
    onRedirect()
    if (count === MAX_REDIRECTS) throw createFetchError('redirect count exceeded')
    init = requestAfterRedirect(response.status, init)
    if (next.origin !== url.origin) {
      const headers = new Headers(init.headers)
      for (const name of memberHeaders.keys()) {
        const own = callerHeaders.get(name)
        if (own === null) headers.delete(name)
        else headers.set(name, own)
      }
      for (const name of CREDENTIAL_HEADERS) headers.delete(name)
      return asRedirected(await send(next, { ...init, headers, redirect: 'follow' }))
    }
    url = next
  }
}

/** Where an answer redirects to; undefined where it is to be returned. */
function redirectLocation({ status, headers }: Response, from: URL): URL | undefined {
  const location = REDIRECT_STATUSES.has(status) ? headers.get('location') : null
  if (location === null) return undefined
  const next = URL.canParse(location, from) ? new URL(location, from) : undefined
  if (next === undefined || !/^https?:$/.test(next.protocol))
    throw createFetchError('URL scheme must be a HTTP(S) scheme')
  if (next.username || next.password) throw createFetchError('URL must not include credentials')
  return next
}

/** What is sent after a redirect: most of them turn a POST into a GET without a body. */
function requestAfterRedirect(
  status: number,
  init: RequestInit & { headers: Headers },
): RequestInit & { headers: Headers } {
  const method = (init.method ?? 'GET').toUpperCase()
  const becomesGet =
    status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST'
  if (becomesGet) {
    const headers = new Headers(init.headers)
    for (const name of BODY_HEADERS) headers.delete(name)
    return { ...init, method: 'GET', body: null, headers }
  }
  if (isOneShot(init.body)) throw createFetchError('a redirect of a streamed body cannot be followed')
  return init
}

/** The last answer of several: fetch would say that it was redirected. */
const asRedirected = (response: Response): Response =>
  response.redirected ? response : Object.defineProperty(response, 'redirected', { value: true })

const createFetchError = (reason: string): TypeError =>
  new TypeError('fetch failed', { cause: new Error(reason) })
