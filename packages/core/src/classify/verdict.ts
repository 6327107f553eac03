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
export interface Bag {
  readonly [key: string]: unknown
}

export const isBag = (value: unknown): value is Bag => typeof value === 'object' && value !== null

/** A frozen classification, shared by all the errors that it fits. */
export const verdict = (category: Category, kind: Kind): Classification => Object.freeze({ category, kind })

export const UNKNOWN = verdict('transient', 'unknown')
export const HOPELESS = verdict('permanent', 'unknown')
export const TIMEOUT = verdict('transient', 'timeout')
export const NETWORK = verdict('transient', 'network_error')
export const CANCELLED = verdict('permanent', 'cancelled')

/** A programming error, by itself: a cause that tells more is heard instead. */
export const MISTAKE = verdict('permanent', 'unknown')

/** Remembers what words or numbers mean, so that one met before costs a look-up and no allocation. */
export function memo<K extends string | number, V>(make: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined && !known.has(key)) {
      value = make(key)
      // Words come from outside: there may be any number of them, of any length.
      if (known.size < 1000 && `${key}`.length < 99) known.set(key, value)
    }
    return value as V
  }
}
