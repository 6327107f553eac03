import { HoldfastError } from 'holdfast'

/** What a {@link ProxyConnectionError} may carry besides its message. */
export interface ProxyConnectionErrorOptions {
  /** The status with which the proxy refused a tunnel, where that says something about when or whether to come back. */
  status?: number | undefined
  /** The headers of that answer. */
  headers?: Record<string, string> | undefined
  /** The error behind it. Never one that carries credentials. */
  cause?: unknown
}

/**
 * A proxy of a pool could not be reached, refused us or does not speak its protocol: the fault of that proxy, which says
 * nothing about the request. It is classified as a network error, so that a guard goes on with another proxy. Its message
 * has no credentials in it.
 *
 * @example
 * ```ts
 * import { ProxyConnectionError } from '@holdfast/proxy'
 * import { classify } from 'holdfast'
 *
 * classify(new ProxyConnectionError('p1:8080 asks for other credentials')).kind // => 'network_error'
 * classify(new ProxyConnectionError('p1:8080 answered 503', { status: 503 })).kind // => 'server_error'
 * ```
 */
export class ProxyConnectionError extends Error {
  /** The status with which the proxy refused, where there is one. */
  declare readonly status?: number
  /** The headers of that answer. */
  declare readonly headers?: Record<string, string>

  constructor(message: string, { status, headers, cause }: ProxyConnectionErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    if (status !== undefined) this.status = status
    if (headers !== undefined) this.headers = headers
  }
}

Object.defineProperty(ProxyConnectionError.prototype, 'name', {
  value: 'ProxyConnectionError',
  configurable: true,
  writable: true,
})

/** INVALID_OPTIONS that lists every problem. */
export function createOptionsError(subject: string, problems: readonly string[]): HoldfastError {
  return new HoldfastError('INVALID_OPTIONS', `${subject}: ${problems.join('; ')}`, { details: problems })
}
