import { isInstanceOfAnyCopy } from 'holdfast/internal'

/** The options of a {@link ProxyConnectionError}. */
export interface ProxyConnectionErrorOptions {
  /** The status with which the proxy rejected a tunnel, if it tells whether or when to retry. */
  status?: number | undefined
  /** The headers of that response. */
  headers?: Record<string, string> | undefined
  /** The cause. It never contains credentials. */
  cause?: unknown
}

/**
 * Makes `instanceof` true for errors of another copy of the package, such as its CommonJS form. It is a class of its own, because V8
 * creates instances of a class slowly if that class itself has such a member.
 */
class CrossCopyConnectionError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'connectionErrorVersion', value)
  }
}

/**
 * A proxy of a pool could not be reached, rejected the connection or violated its protocol. It is a fault of that proxy and
 * not of the request. It is classified as a network error, so that a guard continues with another proxy. Its message
 * contains no credentials.
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
export class ProxyConnectionError extends CrossCopyConnectionError {
  /** The status with which the proxy rejected the tunnel, if there is one. */
  declare readonly status?: number
  /** The headers of that response. */
  declare readonly headers?: Record<string, string>

  constructor(message: string, { status, headers, cause }: ProxyConnectionErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    if (status !== undefined) this.status = status
    if (headers !== undefined) this.headers = headers
  }

  /** @internal The version of the fields, which can be that of another copy of this package. */
  get connectionErrorVersion(): number {
    return 1
  }
}

Object.defineProperty(ProxyConnectionError.prototype, 'name', {
  value: 'ProxyConnectionError',
  configurable: true,
  writable: true,
})
