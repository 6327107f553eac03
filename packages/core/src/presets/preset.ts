import type { BreakerOptions } from '../breaker/options.js'
import type { FetchRetryOptions } from '../retry/options.js'

/** Options for a guard, frozen through and through, to be given as they are or spread and changed. */
export interface Preset {
  /** What the guard is called. */
  readonly name: string
  /** When it tries again. */
  readonly retry: Readonly<FetchRetryOptions>
}

/** A preset for a service behind a network, with a breaker and a deadline for each attempt. */
export interface ServicePreset extends Preset {
  /** When its breaker opens and closes. */
  readonly breaker: Readonly<BreakerOptions>
  /** How long an attempt may take. */
  readonly timeout: { readonly attempt: number }
}

/** A preset for a database, with a deadline for the whole call. */
export interface DatabasePreset extends Preset {
  /** How long the call may take with all its attempts and waits. */
  readonly timeout: { readonly total: number }
}

/** Freezes a preset and everything in it. */
export function deepFreeze<T extends object>(preset: T): T {
  for (const value of Object.values(preset)) if (typeof value === 'object') deepFreeze(value)
  return Object.freeze(preset)
}
