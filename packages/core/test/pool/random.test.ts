import { describe, expect, it } from 'vitest'
import { Pool } from '../../src/index.js'
import { attempts, calls, countById, createPool, membersNamed } from './setup.js'

describe('the strategy random', () => {
  it('selects each member about equally often', () => {
    const { pool } = createPool({ strategy: 'random', members: membersNamed('a', 'b', 'c', 'd') })
    for (const count of Object.values(countById(calls(pool, 4000)))) {
      expect(count).toBeGreaterThan(900)
      expect(count).toBeLessThan(1100)
    }
  })

  it('never selects an unavailable member', () => {
    const { pool } = createPool({ strategy: 'random' })
    pool.breaker('b').trip()
    const counts = countById(calls(pool, 1000))
    expect(counts).toEqual({ a: expect.any(Number), c: expect.any(Number) })
    expect(counts.a).toBeGreaterThan(400)
    expect(counts.c).toBeGreaterThan(400)
  })

  it('selects every member once before any again, the untried ones with equal probability', () => {
    const seconds: string[] = []
    const { pool } = createPool({ strategy: 'random', breaker: { failureThreshold: 100_000 } })
    for (let i = 0; i < 3000; i++) {
      const tried = attempts(pool, 4)
      expect(new Set(tried.slice(0, 3)).size).toBe(3)
      if (tried[0] === 'b') seconds.push(tried[1] as string)
    }
    const { a = 0, c = 0 } = countById(seconds)
    expect(a / (a + c)).toBeGreaterThan(0.45)
    expect(a / (a + c)).toBeLessThan(0.55)
  })

  it.each([1, Number.NaN, -3, Infinity])('tolerates a random source that returns %d', (value) => {
    const { pool } = createPool({ strategy: 'random', random: () => value })
    expect(calls(pool, 2)).toEqual(['a', 'a'])
    expect(attempts(pool, 2)).toEqual(['a', 'b'])
  })

  it('uses the system random source by default', () => {
    const pool = new Pool({ id: 'p', strategy: 'random', members: membersNamed('a', 'b', 'c') })
    expect(Object.keys(countById(calls(pool, 200))).sort()).toEqual(['a', 'b', 'c'])
  })
})
