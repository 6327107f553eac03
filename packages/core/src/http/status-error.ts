import { isInstanceOfAnyCopy } from '../shared-registry.js'

/** Grows with each change of the fields that a fetch reads. */
const STATUS_ERROR_VERSION = 1

/**
 * Makes `instanceof StatusError` true for errors of another copy of the package, such as its CommonJS form. It is a class of its own,
 * because V8 creates instances of a class slowly if that class itself has such a member.
 */
class CrossCopyStatusError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'statusErrorVersion', value)
  }
}

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
export class StatusError<R extends Answer = Response> extends CrossCopyStatusError {
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

  /** @internal The version of the fields that a fetch reads, which can be that of another copy of this package. */
  get statusErrorVersion(): number {
    return STATUS_ERROR_VERSION
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
