import { Bits } from '../indexes/bits.js'
import type { Strategy } from './strategy.js'

/** Each in turn, in the order of their slots. Those that are out are passed over. */
export class RoundRobin implements Strategy {
  private readonly present = new Bits()
  private turn = 0

  insert(slot: number): void {
    this.present.set(slot)
  }

  delete(slot: number): void {
    this.present.clear(slot)
  }

  choose(tried: readonly number[]): number {
    const slot = this.first(this.turn, Infinity, tried)
    const chosen = slot >= 0 ? slot : this.first(0, this.turn, tried)
    if (chosen >= 0) this.turn = chosen + 1
    return chosen
  }

  grow(capacity: number): void {
    this.present.grow(capacity)
  }

  /** Every slot that is not out and not in `tried`, in order. */
  all(tried: readonly number[]): number[] {
    const found: number[] = []
    for (let slot = this.first(0, Infinity, tried); slot >= 0; slot = this.first(slot + 1, Infinity, tried))
      found.push(slot)
    return found
  }

  private first(from: number, to: number, tried: readonly number[]): number {
    const { present } = this
    let slot = present.next(from)
    while (slot >= 0 && slot < to && tried.includes(slot)) slot = present.next(slot + 1)
    return slot < to ? slot : -1
  }
}
