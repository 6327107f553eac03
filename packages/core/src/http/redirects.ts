import type { Clock } from '../clock.js'
import { isOneShot } from './body.js'
import { discardBody } from './discard.js'
import type { FetchFunction } from './options.js'

/** The limit of the fetch standard. */
const MAX_REDIRECTS = 20

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])

/** Headers that every fetch removes when a redirect leads to another origin. */
const CREDENTIAL_HEADERS = ['authorization', 'proxy-authorization', 'cookie', 'host']

/** Headers that describe a body and are removed with it. */
const BODY_HEADERS = [
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
  'content-length',
]

const HIDDEN_REDIRECT_MESSAGE =
  'a redirect cannot be followed: the platform hides where it leads, and the headers of the pool member must not be sent to another origin'

/** Whether headers include some that fetch would send to another origin on a redirect. */
export const hasOtherHeaders = (headers: Headers): boolean =>
  [...headers.keys()].some((name) => !CREDENTIAL_HEADERS.includes(name))

/** A request for {@link followRedirects}. */
export interface RedirectedRequest {
  readonly send: FetchFunction
  readonly url: URL
  readonly init: RequestInit & { readonly headers: Headers }
  /** The caller's headers, without those of the member. */
  readonly callerHeaders: Headers
  readonly memberHeaders: Headers
  readonly clock: Clock
  /** Called at each redirect: the request has then reached a server. */
  readonly onRedirect: () => void
}

/**
 * Sends a request and follows redirects as fetch does, but removes the member's headers when a redirect leads to another
 * origin. Browsers hide redirects and could follow them only with these headers, so a redirect is an error there.
 */
export async function followRedirects(request: RedirectedRequest): Promise<Response> {
  const { send, memberHeaders, callerHeaders, clock, onRedirect } = request
  let { url } = request
  let init: RequestInit & { headers: Headers } = { ...request.init, redirect: 'manual' }
  for (let count = 0; ; count++) {
    const response = await send(url, init)
    if (response.type === 'opaqueredirect') {
      onRedirect()
      throw createFetchError(HIDDEN_REDIRECT_MESSAGE)
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
        const callerValue = callerHeaders.get(name)
        if (callerValue === null) headers.delete(name)
        else headers.set(name, callerValue)
      }
      for (const name of CREDENTIAL_HEADERS) headers.delete(name)
      return asRedirected(await send(next, { ...init, headers, redirect: 'follow' }))
    }
    url = next
  }
}

/** The URL that a response redirects to; undefined if it is not a redirect. */
function redirectLocation({ status, headers }: Response, from: URL): URL | undefined {
  const location = REDIRECT_STATUSES.has(status) ? headers.get('location') : null
  if (location === null) return undefined
  const next = URL.canParse(location, from) ? new URL(location, from) : undefined
  if (next === undefined || !/^https?:$/.test(next.protocol))
    throw createFetchError('URL scheme must be a HTTP(S) scheme')
  if (next.username || next.password) throw createFetchError('URL must not include credentials')
  return next
}

/** The request after a redirect; most statuses turn a POST into a GET without a body. */
function requestAfterRedirect(
  status: number,
  init: RequestInit & { headers: Headers },
): RequestInit & { headers: Headers } {
  const method = (init.method ?? 'GET').toUpperCase()
  const shouldBecomeGet =
    status === 303 ? method !== 'GET' && method !== 'HEAD' : status < 303 && method === 'POST'
  if (shouldBecomeGet) {
    const headers = new Headers(init.headers)
    for (const name of BODY_HEADERS) headers.delete(name)
    return { ...init, method: 'GET', body: null, headers }
  }
  if (isOneShot(init.body)) throw createFetchError('a redirect of a streamed body cannot be followed')
  return init
}

/** Marks a response as redirected, as fetch does. */
const asRedirected = (response: Response): Response =>
  response.redirected ? response : Object.defineProperty(response, 'redirected', { value: true })

const createFetchError = (reason: string): TypeError =>
  new TypeError('fetch failed', { cause: new Error(reason) })
