/** Whether a retry can succeed: `transient` can, `permanent` cannot, `critical` only after a person has acted. */
export type Category = 'transient' | 'permanent' | 'critical'

/** The kind of an error. */
export type Kind =
  | 'timeout'
  | 'network_error'
  | 'rate_limited'
  | 'server_error'
  | 'auth'
  | 'validation'
  | 'not_found'
  | 'conflict'
  | 'disk_full'
  | 'access_denied'
  | 'cancelled'
  | 'unknown'

/** Every {@link Kind}. */
export const KINDS = [
  'timeout',
  'network_error',
  'rate_limited',
  'server_error',
  'auth',
  'validation',
  'not_found',
  'conflict',
  'disk_full',
  'access_denied',
  'cancelled',
  'unknown',
] as const satisfies readonly Kind[]

/** The result of {@link classify}. One object can be shared by many errors and must not be changed. */
export interface Classification {
  /** Whether a retry can succeed. */
  readonly category: Category
  /** The kind of the error. */
  readonly kind: Kind
  /** The HTTP status of the response, if there is one. */
  readonly httpStatus?: number
  /** The SQLSTATE of the database, if there is one. */
  readonly sqlState?: string
  /** Milliseconds after which the server allows a retry. */
  readonly retryAfter?: number
  /** The paths of the invalid fields of a validation error, such as `items.0.price`. */
  readonly fields?: readonly string[]
}

/** An object with any properties. */
export interface ErrorLike {
  readonly [key: string]: unknown
}

export const isErrorLike = (value: unknown): value is ErrorLike => typeof value === 'object' && value !== null

/** Creates a frozen classification that is shared by all errors of its kind. */
// @__NO_SIDE_EFFECTS__
export function createClassification(category: Category, kind: Kind): Classification {
  return Object.freeze({ category, kind })
}

export const UNKNOWN = createClassification('transient', 'unknown')
export const PERMANENT_UNKNOWN = createClassification('permanent', 'unknown')
export const TIMEOUT = createClassification('transient', 'timeout')
export const NETWORK = createClassification('transient', 'network_error')
export const CANCELLED = createClassification('permanent', 'cancelled')

/** A programming error. A cause with a classification of its own takes precedence. */
export const PROGRAMMING_ERROR = createClassification('permanent', 'unknown')

/** Caches the results of a function by its argument, so that a known argument costs a lookup and no allocation. */
// @__NO_SIDE_EFFECTS__
export function memoize<K extends string | number, V>(compute: (key: K) => V): (key: K) => V {
  const cache = new Map<K, V>()
  return (key) => {
    let value = cache.get(key)
    if (value === undefined && !cache.has(key)) {
      value = compute(key)
      // Keys come from errors of other systems, so their number and length are limited.
      if (cache.size < 1000 && `${key}`.length < 99) cache.set(key, value)
    }
    return value as V
  }
}
