import type { Random } from '../../clock.js'
import { growArray, type SlotIndexed } from './grow-array.js'
import { nthHash } from './hash.js'

/** A whole number below `count` by chance; a source of chance that gives anything but [0, 1) yields 0. */
function randomIndex(random: Random, count: number): number {
  const drawn = Math.floor(random() * count)
  return drawn >= 0 && drawn < count ? drawn : 0
}

/** A set of slots without gaps, so that one can be drawn by its number. The last fills the gap of one that goes. */
export class DenseSet implements SlotIndexed {
  /** The slots, in no order; only the first `size` count. */
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

  /** A slot drawn among those not in `tried`, each as likely as another, or -1. */
  pick(random: Random, tried: readonly number[]): number {
    const { slots, positions, size } = this
    if (tried.length === 0) return size === 0 ? -1 : (slots[randomIndex(random, size)] as number)
    const taken = tried.map((slot) => positions[slot] as number).filter((position) => position >= 0)
    if (taken.length === size) return -1
    let position = randomIndex(random, size - taken.length)
    for (const gap of taken.sort((a, b) => a - b)) if (gap <= position) position++
    return slots[position] as number
  }

  /** Fills a list with slots drawn among those not in `tried`, with -1 where there is none; there must be some slots. */
  pickMany(random: Random, tried: readonly number[], target: Int32Array): void {
    const { slots, size } = this
    if (tried.length > 0) {
      for (let i = 0; i < target.length; i++) target[i] = this.pick(random, tried)
      return
    }
    // To stir one number that was drawn is quicker than to draw as many.
    const seed = random() * 2 ** 32
    const scale = size / 2 ** 32
    for (let i = 0; i < target.length; i++) target[i] = slots[Math.floor(nthHash(seed, i) * scale)] as number
  }

  /** Another slot than this one, which is in the set; -1 where there is no other. */
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
