import { growArray, type SlotIndexed } from './grow-array.js'

/** A second number for each slot, which decides between those whose first is the same. */
export interface TieBreaker {
  selections(slot: number): number
}

/** A number for each slot, Infinity for those that are out, and the slot with the least of them: a tree of winners. */
export class TournamentTree implements SlotIndexed {
  private keys = new Float64Array(0)
  /** The winner at each inner node. The root is 1; a slot itself stands at `keys.length + slot`. */
  private winners = new Int32Array(0)
  private readonly tieBreaker: TieBreaker

  constructor(seconds: TieBreaker) {
    this.tieBreaker = seconds
  }

  /** The slot with the least number; among equals the one with the least second number, then the lowest; -1 if none. */
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

  /** To be told when a slot's second number has changed. */
  update(slot: number): void {
    const { winners, keys } = this
    for (let node = (keys.length + slot) >> 1; node > 0; node >>= 1) {
      const winner = this.winnerOf(node)
      // Where another won before and still does, nothing changes further up.
      if (winner === winners[node] && winner !== slot) return
      winners[node] = winner
    }
  }

  /** The first that is not in `tried`. */
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
    const inner = 2 * node < keys.length
    const left = inner ? (winners[2 * node] as number) : 2 * node - keys.length
    const right = inner ? (winners[2 * node + 1] as number) : left + 1
    const a = keys[left] as number
    const b = keys[right] as number
    if (a !== b) return a < b ? left : right
    return tieBreaker.selections(left) <= tieBreaker.selections(right) ? left : right
  }
}
