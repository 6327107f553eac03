import { growArray } from '../indexes/grow-array.js'

/** How many numbers a block has room for. A row moves to the next size when its block is full. */
const BLOCK_SIZES = [4, 16, 64, 100]

/**
 * Rows of up to a hundred numbers, all in one array, in blocks that grow as they are used. Whoever has a row knows where it
 * begins and how many numbers it holds.
 */
export class BlockAllocator {
  numbers: Float32Array = new Float32Array(1024)
  private end = 0
  /** Where the blocks that are free begin, by size. */
  private readonly freeBlocks: number[][] = BLOCK_SIZES.map(() => [])

  /** Makes room for one more number in a row that holds `count`, and gives the place where it begins then. */
  extend(start: number, count: number): number {
    const size = BLOCK_SIZES.indexOf(count)
    if (size < 0 && count > 0) return start
    const to = this.allocate(size + 1)
    this.numbers.copyWithin(to, start, start + count)
    this.free(start, count)
    return to
  }

  /** Gives the block of a row back. */
  free(start: number, count: number): void {
    if (count > 0) this.freeBlocks[BLOCK_SIZES.findIndex((size) => count <= size)]?.push(start)
  }

  private allocate(size: number): number {
    const free = this.freeBlocks[size]?.pop()
    if (free !== undefined) return free
    const start = this.end
    this.end += BLOCK_SIZES[size] as number
    if (this.end > this.numbers.length)
      this.numbers = growArray(this.numbers, Math.ceil(Math.max(this.end, this.numbers.length * 1.5)))
    return start
  }
}
