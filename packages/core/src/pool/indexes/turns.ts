import { Bits } from './bits.js'
import { grown } from './grown.js'

/**
 * Slots that take turns. Each has a place of its own, in the order in which they came; a new one takes the place that was
 * left last, where there is one. Those that are out are passed over and keep their place.
 */
export class Turns {
  private slots = new Int32Array(32)
  private readonly present = new Bits()
  private readonly left: number[] = []
  private places = 0
  private turn = 0

  /** Gives a slot its place. It is out at first. */
  join(slot: number): number {
    const place = this.left.pop() ?? this.places++
    if (place >= this.slots.length) {
      this.slots = grown(this.slots, place * 2)
      this.present.grow(place * 2)
    }
    this.slots[place] = slot
    return place
  }

  /** Takes a place back, of a slot that is out. */
  leave(place: number): void {
    this.left.push(place)
  }

  insert(place: number): void {
    this.present.set(place)
  }

  delete(place: number): void {
    this.present.clear(place)
  }

  /** The slot whose turn it is among those not in `tried`, or -1. The turn then goes to the one after it. */
  next(tried: readonly number[]): number {
    const { present, slots, turn } = this
    let wrapped = false
    for (let place = turn; ; place++) {
      place = present.next(place)
      if (place < 0 || (wrapped && place >= turn)) {
        if (wrapped || turn === 0) return -1
        wrapped = true
        place = -1
        continue
      }
      const slot = slots[place] as number
      if (tried.includes(slot)) continue
      this.turn = place + 1
      return slot
    }
  }

  /** Every slot that is not out and not in `tried`, in the order of their places. */
  all(tried: readonly number[]): number[] {
    const found: number[] = []
    for (let place = this.present.next(0); place >= 0; place = this.present.next(place + 1)) {
      const slot = this.slots[place] as number
      if (!tried.includes(slot)) found.push(slot)
    }
    return found
  }
}
