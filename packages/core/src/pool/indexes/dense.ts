import type { Random } from '../../clock.js'
import { type Growing, grown } from './grown.js'
import { spread } from './hash.js'

/** A whole number below `count` by chance; a source of chance that gives anything but [0, 1) yields 0. */
function draw(random: Random, count: number): number {
  const drawn = Math.floor(random() * count)
  return drawn >= 0 && drawn < count ? drawn : 0
}

/** A set of slots without gaps, so that one can be drawn by its number. The last fills the gap of one that goes. */
export class Dense implements Growing {
  /** The slots, in no order; only the first `size` count. */
  slots: Int32Array = new Int32Array(0)
  size = 0
  private places: Int32Array = new Int32Array(0)

  insert(slot: number): void {
    this.places[slot] = this.size
    this.slots[this.size++] = slot
  }

  delete(slot: number): void {
    const place = this.places[slot] as number
    const last = this.slots[--this.size] as number
    this.slots[place] = last
    this.places[last] = place
    this.places[slot] = -1
  }

  /** A slot drawn among those not in `tried`, each as likely as another, or -1. */
  draw(random: Random, tried: readonly number[]): number {
    const { slots, places, size } = this
    if (tried.length === 0) return size === 0 ? -1 : (slots[draw(random, size)] as number)
    const taken = tried.map((slot) => places[slot] as number).filter((place) => place >= 0)
    if (taken.length === size) return -1
    let place = draw(random, size - taken.length)
    for (const gap of taken.sort((a, b) => a - b)) if (gap <= place) place++
    return slots[place] as number
  }

  /** Fills a list with slots drawn among those not in `tried`, with -1 where there is none; there must be some slots. */
  drawAll(random: Random, tried: readonly number[], list: Int32Array): void {
    const { slots, size } = this
    if (tried.length > 0) {
      for (let i = 0; i < list.length; i++) list[i] = this.draw(random, tried)
      return
    }
    // To stir one number that was drawn is quicker than to draw as many.
    const seed = random() * 2 ** 32
    const share = size / 2 ** 32
    for (let i = 0; i < list.length; i++) list[i] = slots[Math.floor(spread(seed, i) * share)] as number
  }

  /** Another slot than this one, which is in the set; -1 where there is no other. */
  drawOther(random: Random, slot: number): number {
    if (this.size < 2) return -1
    const place = draw(random, this.size - 1)
    return this.slots[place < (this.places[slot] as number) ? place : place + 1] as number
  }

  grow(capacity: number): void {
    this.slots = grown(this.slots, capacity)
    this.places = grown(this.places, capacity, -1)
  }
}
