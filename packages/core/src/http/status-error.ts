/**
 * An answer with a status that tells of a failure: what a fetch with `throwOnStatus` throws in place of it. Its message
 * names the method, the origin and the status; paths and queries may hold secrets and are left out.
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
  /** The headers of the answer. */
  readonly headers: R['headers']
  /** The answer itself; its body has not been read. */
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

/** What is known of an answer before its body. */
export interface Answer {
  /** The HTTP status. */
  readonly status: number
  /** Its headers. */
  readonly headers: object
}
