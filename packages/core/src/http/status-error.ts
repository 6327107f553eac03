/**
 * A response with an error status, thrown by a fetch with `throwOnStatus`. The message contains the method, the origin and
 * the status, but not the path and the query, which can contain secrets.
 *
 * @example
 * ```ts
 * import { createFetch, StatusError } from 'holdfast/http'
 *
 * const answer = async () => new Response('not here', { status: 404 })
 * const get = createFetch({ fetch: answer, throwOnStatus: true })
 * const error = await get('https://api.example/users/7?key=secret').catch((e) => e)
 * error instanceof StatusError // => true
 * error.message // => 'GET https://api.example answered 404'
 * error.status // => 404
 * await error.response.text() // => 'not here'
 * ```
 */
export class StatusError<R extends Answer = Response> extends Error {
  /** The HTTP status. */
  readonly status: number
  /** The headers of the response. */
  readonly headers: R['headers']
  /** The response; its body has not been read. */
  readonly response: R

  constructor(message: string, response: R) {
    super(message)
    this.status = response.status
    this.headers = response.headers
    this.response = response
  }
}

Object.defineProperty(StatusError.prototype, 'name', {
  value: 'StatusError',
  configurable: true,
  writable: true,
})

/** A response without its body. */
export interface Answer {
  /** The HTTP status. */
  readonly status: number
  /** The headers. */
  readonly headers: object
}
