import type { Growing } from '../indexes/grown.js'

/**
 * A way of choosing. It knows the slots that are available, in an index of its own, so that a choice takes a few steps
 * however many there are.
 */
export interface Strategy extends Growing {
  /** A member has come to the pool; it is not available yet. */
  join?(slot: number): void
  /** A member leaves the pool; it is no longer available. */
  leave?(slot: number): void
  /** A slot has become available. */
  insert(slot: number): void
  /** A slot is no longer available. */
  delete(slot: number): void
  /** Chooses among the available slots that are not in `tried`; -1 where there is none. */
  choose(tried: readonly number[], context: unknown, now: number): number
  /** A slot's turns have changed. */
  turned?(slot: number): void
}

/** A property of a call's context that is a text or a number, as text. */
export function wordOf(context: unknown, name: 'session' | 'region'): string | undefined {
  const value =
    typeof context === 'object' && context !== null ? (context as Record<string, unknown>)[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined
}
