import { growArray } from '../indexes/grow-array.js'

/** The block sizes, in numbers. A row moves to a block of the next size when its block is full. */
const BLOCK_SIZES = [4, 16, 64, 100]

/**
 * Allocates rows of up to 100 numbers in one array, in blocks that grow with the rows. The owner of a row stores its start and
 * its length.
 */
export class BlockAllocator {
  numbers: Float32Array = new Float32Array(1024)
  private end = 0
  /** The starts of the free blocks, by index of their size. */
  private readonly freeBlocks: number[][] = BLOCK_SIZES.map(() => [])

  /** Makes room for one more number in a row of `count` numbers. Returns the start of the row, which can have moved. */
  extend(start: number, count: number): number {
    const size = BLOCK_SIZES.indexOf(count)
    if (size < 0 && count > 0) return start
    const to = this.allocate(size + 1)
    this.numbers.copyWithin(to, start, start + count)
    this.free(start, count)
    return to
  }

  /** Releases the block of a row. */
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
