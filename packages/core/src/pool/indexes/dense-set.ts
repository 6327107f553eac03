import type { Random } from '../../clock.js'
import { growArray, type SlotIndexed } from './grow-array.js'
import { nthHash } from './hash.js'

/** A random integer from 0 to `count` - 1; 0 if `random` returns a number outside of [0, 1). */
function randomIndex(random: Random, count: number): number {
  const drawn = Math.floor(random() * count)
  return drawn >= 0 && drawn < count ? drawn : 0
}

/** A set of slots in a contiguous array, so that a random one can be drawn by index. The last fills the gap of a deleted one. */
export class DenseSet implements SlotIndexed {
  /** The slots, unordered; only the first `size` elements are valid. */
  slots: Int32Array = new Int32Array(0)
  size = 0
  private positions: Int32Array = new Int32Array(0)

  insert(slot: number): void {
    this.positions[slot] = this.size
    this.slots[this.size++] = slot
  }

  delete(slot: number): void {
    const position = this.positions[slot] as number
    const last = this.slots[--this.size] as number
    this.slots[position] = last
    this.positions[last] = position
    this.positions[slot] = -1
  }

  /** A random slot that is not in `tried`, each with the same probability, or -1. */
  pick(random: Random, tried: readonly number[]): number {
    const { slots, positions, size } = this
    if (tried.length === 0) return size === 0 ? -1 : (slots[randomIndex(random, size)] as number)
    const excluded = tried.map((slot) => positions[slot] as number).filter((position) => position >= 0)
    if (excluded.length === size) return -1
    let position = randomIndex(random, size - excluded.length)
    for (const gap of excluded.sort((a, b) => a - b)) if (gap <= position) position++
    return slots[position] as number
  }

  /** Fills `target` with random slots that are not in `tried`, or -1 if there are none. The set must not be empty. */
  pickMany(random: Random, tried: readonly number[], target: Int32Array): void {
    const { slots, size } = this
    if (tried.length > 0) {
      for (let i = 0; i < target.length; i++) target[i] = this.pick(random, tried)
      return
    }
    // Hashing one random number several times is faster than drawing several.
    const seed = random() * 2 ** 32
    const scale = size / 2 ** 32
    for (let i = 0; i < target.length; i++) target[i] = slots[Math.floor(nthHash(seed, i) * scale)] as number
  }

  /** A random slot other than `slot`, which must be in the set; -1 if there is no other. */
  pickOther(random: Random, slot: number): number {
    if (this.size < 2) return -1
    const position = randomIndex(random, this.size - 1)
    return this.slots[position < (this.positions[slot] as number) ? position : position + 1] as number
  }

  grow(capacity: number): void {
    this.slots = growArray(this.slots, capacity)
    this.positions = growArray(this.positions, capacity, -1)
  }
}
