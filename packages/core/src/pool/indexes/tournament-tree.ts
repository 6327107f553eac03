import { growArray, type SlotIndexed } from './grow-array.js'

/** The secondary key of each slot, which decides between slots with the same key. */
export interface TieBreaker {
  selections(slot: number): number
}

/** Finds the slot with the lowest key. Each node holds the winner of its two children; an unavailable slot has the key Infinity. */
export class TournamentTree implements SlotIndexed {
  private keys = new Float64Array(0)
  /** The winner at each inner node. The root is node 1; the leaf of a slot is node `keys.length + slot`. */
  private winners = new Int32Array(0)
  private readonly tieBreaker: TieBreaker

  constructor(tieBreaker: TieBreaker) {
    this.tieBreaker = tieBreaker
  }

  /** The slot with the lowest key, then the lowest secondary key, then the lowest slot; -1 if none is available. */
  get first(): number {
    const slot = this.winners[1] as number
    return this.keys[slot] === Infinity ? -1 : slot
  }

  get(slot: number): number {
    return this.keys[slot] as number
  }

  set(slot: number, key: number): void {
    this.keys[slot] = key
    this.update(slot)
  }

  /** Must be called when the secondary key of a slot has changed. */
  update(slot: number): void {
    const { winners, keys } = this
    for (let node = (keys.length + slot) >> 1; node > 0; node >>= 1) {
      const winner = this.winnerOf(node)
      // If another slot won before and still wins, the nodes above do not change.
      if (winner === winners[node] && winner !== slot) return
      winners[node] = winner
    }
  }

  /** The same as `first`, without the slots in `tried`. */
  firstExcept(tried: readonly number[]): number {
    if (tried.length === 0) return this.first
    const keys = tried.map((slot) => this.get(slot))
    for (const slot of tried) this.set(slot, Infinity)
    const found = this.first
    tried.forEach((slot, i) => this.set(slot, keys[i] as number))
    return found
  }

  grow(capacity: number): void {
    this.keys = growArray(this.keys, capacity, Infinity)
    this.winners = new Int32Array(capacity)
    for (let node = capacity - 1; node > 0; node--) this.winners[node] = this.winnerOf(node)
  }

  private winnerOf(node: number): number {
    const { winners, keys, tieBreaker } = this
    const hasInnerChildren = 2 * node < keys.length
    const left = hasInnerChildren ? (winners[2 * node] as number) : 2 * node - keys.length
    const right = hasInnerChildren ? (winners[2 * node + 1] as number) : left + 1
    const a = keys[left] as number
    const b = keys[right] as number
    if (a !== b) return a < b ? left : right
    return tieBreaker.selections(left) <= tieBreaker.selections(right) ? left : right
  }
}
