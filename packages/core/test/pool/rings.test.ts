import { describe, expect, it } from 'vitest'
import { Rings } from '../../src/pool/results/rings.js'
import { seededRandom } from '../../src/testing/index.js'

describe('the rows of numbers of all slots', () => {
  it('hold what was written to each, while they grow and are given back', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed)
      const below = (count: number) => Math.floor(random() * count)
      const rings = new Rings(100)
      rings.grow(64)
      const rows: number[][] = Array.from({ length: 64 }, () => [])
      for (let step = 0; step < 6000; step++) {
        const slot = below(64)
        const row = rows[slot] as number[]
        if (below(40) === 0) {
          rings.free(slot)
          row.length = 0
        } else {
          const index = row.length < 100 && below(5) > 0 ? row.length : below(row.length)
          rings.set(slot, index, step)
          row[index] = step
        }
      }
      for (const [slot, row] of rows.entries()) expect(row.map((_, i) => rings.get(slot, i))).toEqual(row)
    }
  })

  it('take back the blocks that are free before they take new ones', () => {
    const rings = new Rings(100)
    rings.grow(32)
    const fill = (slot: number) => {
      for (let i = 0; i < 100; i++) rings.set(slot, i, i)
    }
    for (let slot = 0; slot < 32; slot++) fill(slot)
    const { numbers } = rings as unknown as { numbers: Float32Array }
    for (let round = 0; round < 100; round++) {
      for (let slot = 0; slot < 32; slot++) rings.free(slot)
      for (let slot = 0; slot < 32; slot++) rings.free(slot)
      for (let slot = 0; slot < 32; slot++) fill(slot)
    }
    // The same array, not grown once.
    expect((rings as unknown as { numbers: Float32Array }).numbers).toBe(numbers)
    expect(numbers.length).toBeLessThan(32 * (1 + 4 + 16 + 64 + 100) * 1.5)
  })
})
