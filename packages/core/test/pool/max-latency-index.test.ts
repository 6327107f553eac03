import { describe, expect, it } from 'vitest'
import { MaxLatencyIndex } from '../../src/pool/scores/max-latency-index.js'
import { seededRandom } from '../../src/testing/index.js'

describe('MaxLatencyIndex', () => {
  it('has the correct maximum after every change', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seededRandom(seed)
      const below = (count: number) => Math.floor(random() * count)
      const capacity = seed % 2 === 0 ? 32 : 256
      const numbers: number[] = Array.from({ length: capacity }, () => 0)
      const slowest = new MaxLatencyIndex((slot) => numbers[slot] as number)
      slowest.grow(32)
      slowest.grow(capacity)
      for (let step = 0; step < 1000; step++) {
        const slot = below(capacity)
        const before = numbers[slot] as number
        numbers[slot] = below(3) === 0 ? 0 : below(1000)
        slowest.onChanged(slot, before, numbers[slot] as number)
        const expected = Math.max(...numbers)
        if (slowest.max !== expected) expect(`${slowest.max} in step ${step}`).toBe(`${expected}`)
      }
    }
  })
})
