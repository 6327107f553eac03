import type { BreakerOptions } from '../breaker/options.js'
import type { FetchRetryOptions } from '../retry/options.js'

/** Deeply frozen options of a guard, for use as they are or spread with changes. */
export interface Preset {
  /** The name of the guard. */
  readonly name: string
  /** The retry options. */
  readonly retry: Readonly<FetchRetryOptions>
}

/** A preset for a remote service, with a breaker and a timeout of each attempt. */
export interface ServicePreset extends Preset {
  /** The breaker options. */
  readonly breaker: Readonly<BreakerOptions>
  /** The timeout of an attempt in milliseconds. */
  readonly timeout: { readonly attempt: number }
}

/** A preset for a database, with a timeout of the whole call. */
export interface DatabasePreset extends Preset {
  /** The timeout of the call in milliseconds, including all attempts and delays. */
  readonly timeout: { readonly total: number }
}

/** Freezes a preset and all objects in it. */
export function deepFreeze<T extends object>(preset: T): T {
  for (const value of Object.values(preset)) if (typeof value === 'object') deepFreeze(value)
  return Object.freeze(preset)
}
