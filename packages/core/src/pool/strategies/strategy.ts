import type { SlotIndexed } from '../indexes/grow-array.js'

/**
 * Chooses a slot. A strategy indexes the available slots, so that the cost of a choice hardly depends on the number of
 * members.
 */
export interface SelectionStrategy extends SlotIndexed {
  /** A member was added to the pool; it is not available yet. */
  addSlot?(slot: number): void
  /** A member leaves the pool; it is no longer available. */
  removeSlot?(slot: number): void
  /** A slot has become available. */
  markAvailable(slot: number): void
  /** A slot is no longer available. */
  markUnavailable(slot: number): void
  /** Chooses among the available slots that are not in `tried`; -1 if there is none. */
  chooseSlot(tried: readonly number[], context: unknown, now: number): number
  /** A slot was selected, and its number of selections has changed. */
  onSelected?(slot: number): void
}

/** A string or number property of a call's context, as a string; undefined for any other value. */
export function contextValue(context: unknown, name: 'session' | 'region'): string | undefined {
  const value =
    typeof context === 'object' && context !== null ? (context as Record<string, unknown>)[name] : undefined
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined
}
