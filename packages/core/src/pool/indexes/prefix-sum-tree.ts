import { growArray, type SlotIndexed } from './grow-array.js'

/**
 * Finds the slot at any point of the cumulative sum of the slots' weights. Each node of the tree is the sum of its two
 * children. It is always recalculated from them, so that rounding errors do not accumulate.
 */
export class PrefixSumTree implements SlotIndexed {
  /** The root is node 1; the weight of a slot is at `capacity + slot`. */
  private nodes = new Float64Array(0)
  private capacity = 0

  get total(): number {
    return this.nodes[1] as number
  }

  get(slot: number): number {
    return this.nodes[this.capacity + slot] as number
  }

  set(slot: number, weight: number): void {
    const { nodes } = this
    let node = this.capacity + slot
    nodes[node] = weight
    for (node >>= 1; node > 0; node >>= 1)
      nodes[node] = (nodes[2 * node] as number) + (nodes[2 * node + 1] as number)
  }

  /** The slot at `point`, which must be below the total. Its weight is never 0. */
  find(point: number): number {
    const { nodes, capacity } = this
    let remaining = point
    let node = 1
    while (node < capacity) {
      node *= 2
      const weight = nodes[node] as number
      if (remaining >= weight && (nodes[node + 1] as number) > 0) {
        remaining -= weight
        node++
      }
    }
    return node - capacity
  }

  grow(capacity: number): void {
    const weights = this.nodes.subarray(this.capacity)
    const nodes = growArray(new Float64Array(0), 2 * capacity)
    nodes.set(weights, capacity)
    for (let node = capacity - 1; node > 0; node--)
      nodes[node] = (nodes[2 * node] as number) + (nodes[2 * node + 1] as number)
    this.nodes = nodes
    this.capacity = capacity
  }
}
