import type { SlotIndexed } from '../indexes/grow-array.js'

/**
 * A way of choosing. It knows the slots that are available, in an index of its own, so that a choice takes a few steps
 * however many there are.
 */
export interface SelectionStrategy extends SlotIndexed {
  /** A member has come to the pool; it is not available yet. */
  addSlot?(slot: number): void
  /** A member leaves the pool; it is no longer available. */
  removeSlot?(slot: number): void
  /** A slot has become available. */
  markAvailable(slot: number): void
  /** A slot is no longer available. */
  markUnavailable(slot: number): void
  /** Chooses among the available slots that are not in `tried`; -1 where there is none. */
  chooseSlot(tried: readonly number[], context: unknown, now: number): number
  /** A slot's turns have changed. */
  onSelected?(slot: number): void
}

/** A property of a call's context that is a text or a number, as text. */
export function contextValue(context: unknown, name: 'session' | 'region'): string | undefined {
  const value =
    typeof context === 'object' && context !== null ? (context as Record<string, unknown>)[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined
}
