import { BitSet } from '../indexes/bit-set.js'
import type { SelectionStrategy } from './strategy.js'

/** Chooses the members in turn, in the order of their slots, and skips unavailable ones. */
export class RoundRobinStrategy implements SelectionStrategy {
  private readonly available = new BitSet()
  private nextSlot = 0

  markAvailable(slot: number): void {
    this.available.set(slot)
  }

  markUnavailable(slot: number): void {
    this.available.clear(slot)
  }

  chooseSlot(tried: readonly number[]): number {
    const slot = this.firstUntried(this.nextSlot, Infinity, tried)
    const chosen = slot >= 0 ? slot : this.firstUntried(0, this.nextSlot, tried)
    if (chosen >= 0) this.nextSlot = chosen + 1
    return chosen
  }

  grow(capacity: number): void {
    this.available.grow(capacity)
  }

  /** The available slots that are not in `tried`, in order. */
  availableExcept(tried: readonly number[]): number[] {
    const found: number[] = []
    for (
      let slot = this.firstUntried(0, Infinity, tried);
      slot >= 0;
      slot = this.firstUntried(slot + 1, Infinity, tried)
    )
      found.push(slot)
    return found
  }

  private firstUntried(from: number, to: number, tried: readonly number[]): number {
    const { available } = this
    let slot = available.next(from)
    while (slot >= 0 && slot < to && tried.includes(slot)) slot = available.next(slot + 1)
    return slot < to ? slot : -1
  }
}
