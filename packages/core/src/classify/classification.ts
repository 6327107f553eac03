/** Whether trying again can help: it may, it cannot, or a person has to act first. */
export type Category = 'transient' | 'permanent' | 'critical'

/** What went wrong, in one word. */
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

/** What {@link classify} says of an error. It may be shared by many errors: it is not to be changed. */
export interface Classification {
  /** Whether trying again can help. */
  readonly category: Category
  /** What went wrong. */
  readonly kind: Kind
  /** The HTTP status, where a server answered with one. */
  readonly httpStatus?: number
  /** The five characters a database gives for the condition, where it gave some. */
  readonly sqlState?: string
  /** Milliseconds after which the other side wants to be asked again. */
  readonly retryAfter?: number
  /** The paths that a validation error complains of, such as `items.0.price`. */
  readonly fields?: readonly string[]
}

/** An object whose properties may be anything. */
export interface ErrorLike {
  readonly [key: string]: unknown
}

export const isErrorLike = (value: unknown): value is ErrorLike => typeof value === 'object' && value !== null

/** A frozen classification, shared by all the errors that it fits. */
export const createClassification = (category: Category, kind: Kind): Classification =>
  Object.freeze({ category, kind })

export const UNKNOWN = createClassification('transient', 'unknown')
export const PERMANENT_UNKNOWN = createClassification('permanent', 'unknown')
export const TIMEOUT = createClassification('transient', 'timeout')
export const NETWORK = createClassification('transient', 'network_error')
export const CANCELLED = createClassification('permanent', 'cancelled')

/** A programming error, by itself: a cause that tells more is heard instead. */
export const PROGRAMMING_ERROR = createClassification('permanent', 'unknown')

/** Remembers what words or numbers mean, so that one met before costs a look-up and no allocation. */
export function memoize<K extends string | number, V>(compute: (key: K) => V): (key: K) => V {
  const cache = new Map<K, V>()
  return (key) => {
    let value = cache.get(key)
    if (value === undefined && !cache.has(key)) {
      value = compute(key)
      // Words come from outside: there may be any number of them, of any length.
      if (cache.size < 1000 && `${key}`.length < 99) cache.set(key, value)
    }
    return value as V
  }
}
