import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/testing/index.js'

const draw = (seed: number, count: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, random)
}

describe('seededRandom', () => {
  it('returns the same numbers for the same seed', () => {
    expect(draw(7, 100)).toEqual(draw(7, 100))
  })

  it('returns these numbers on every machine', () => {
    expect(draw(1, 3)).toEqual([0.6270739405881613, 0.002735721180215478, 0.5274470399599522])
  })

  it('returns other numbers for another seed', () => {
    const firsts = Array.from({ length: 1000 }, (_, seed) => draw(seed, 1)[0])
    expect(new Set(firsts).size).toBe(1000)
  })

  it.each([0, -1, 2 ** 31, 2 ** 53, 0.5])('accepts %d as a seed', (seed) => {
    expect(new Set(draw(seed, 100)).size).toBe(100)
  })

  it('returns numbers from 0 to below 1', () => {
    const numbers = draw(42, 100_000)
    expect(numbers.filter((number) => !(number >= 0 && number < 1))).toEqual([])
  })

  it('distributes numbers evenly', () => {
    const tenths = new Array<number>(10).fill(0)
    for (const number of draw(42, 100_000)) tenths[Math.floor(number * 10)]! += 1
    expect(tenths.filter((count) => count < 9500 || count > 10_500)).toEqual([])
  })

  it('has independent state per instance', () => {
    const [a, b] = [seededRandom(3), seededRandom(3)]
    a()
    a()
    const third = a()
    expect([b(), b(), b()][2]).toBe(third)
  })
})
