import { describe, expect, it } from 'vitest'
import { BlockAllocator } from '../../src/pool/scores/block-allocator.js'
import { seededRandom } from '../../src/testing/index.js'

/** The start and the expected numbers of a row. */
interface Row {
  start: number
  readonly numbers: number[]
}

function push(blocks: BlockAllocator, row: Row, number: number): void {
  row.start = blocks.extend(row.start, row.numbers.length)
  blocks.numbers[row.start + row.numbers.length] = number
  row.numbers.push(number)
}

function free(blocks: BlockAllocator, row: Row): void {
  blocks.free(row.start, row.numbers.length)
  row.numbers.length = 0
}

const rowsOf = (count: number): Row[] => Array.from({ length: count }, () => ({ start: 0, numbers: [] }))

describe('BlockAllocator', () => {
  it('preserves the numbers of every row while rows grow and are freed', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const random = seededRandom(seed)
      const below = (count: number) => Math.floor(random() * count)
      const blocks = new BlockAllocator()
      const rows = rowsOf(64)
      for (let step = 0; step < 6000; step++) {
        const row = rows[below(64)] as Row
        if (below(200) === 0) free(blocks, row)
        else if (row.numbers.length < 100) push(blocks, row, step)
      }
      for (const { start, numbers } of rows)
        expect([...blocks.numbers.subarray(start, start + numbers.length)]).toEqual(numbers)
    }
  })

  it('moves a row only when its block is full', () => {
    const blocks = new BlockAllocator()
    const [row] = rowsOf(1) as [Row]
    const starts = new Set<number>()
    for (let i = 0; i < 100; i++) {
      push(blocks, row, i)
      starts.add(row.start)
    }
    expect([...starts]).toEqual([0, 4, 4 + 16, 4 + 16 + 64])
  })

  it('reuses free blocks before it allocates new ones', () => {
    const blocks = new BlockAllocator()
    const rows = rowsOf(32)
    const fill = () => {
      for (const row of rows) for (let i = 0; i < 100; i++) push(blocks, row, i)
    }
    fill()
    const { numbers } = blocks
    for (let round = 0; round < 20; round++) {
      for (const row of rows) free(blocks, row)
      for (const row of rows) free(blocks, row)
      fill()
    }
    // The array has never grown.
    expect(blocks.numbers).toBe(numbers)
    expect(numbers.length).toBeLessThan(32 * (4 + 16 + 64 + 100) * 1.5)
  })
})
