import { describe, expect, it } from 'vitest'
import { Pool } from '../../src/index.js'
import { attempts, called, calls, made, tally } from './setup.js'

describe('random', () => {
  it('chooses each member about as often as another', () => {
    const { pool } = made({ strategy: 'random', members: called('a', 'b', 'c', 'd') })
    for (const count of Object.values(tally(calls(pool, 4000)))) {
      expect(count).toBeGreaterThan(900)
      expect(count).toBeLessThan(1100)
    }
  })

  it('never chooses one that is out', () => {
    const { pool } = made({ strategy: 'random' })
    pool.breaker('b').trip()
    const counts = tally(calls(pool, 1000))
    expect(counts).toEqual({ a: expect.any(Number), c: expect.any(Number) })
    expect(counts.a).toBeGreaterThan(400)
    expect(counts.c).toBeGreaterThan(400)
  })

  it('tries each member once before any again, the untried ones with the same chance', () => {
    const seconds: string[] = []
    const { pool } = made({ strategy: 'random', breaker: { failureThreshold: 100_000 } })
    for (let i = 0; i < 3000; i++) {
      const tried = attempts(pool, 4)
      expect(new Set(tried.slice(0, 3)).size).toBe(3)
      if (tried[0] === 'b') seconds.push(tried[1] as string)
    }
    const { a = 0, c = 0 } = tally(seconds)
    expect(a / (a + c)).toBeGreaterThan(0.45)
    expect(a / (a + c)).toBeLessThan(0.55)
  })

  it.each([1, Number.NaN, -3, Infinity])('survives a source of chance that gives %d', (value) => {
    const { pool } = made({ strategy: 'random', random: () => value })
    expect(calls(pool, 2)).toEqual(['a', 'a'])
    expect(attempts(pool, 2)).toEqual(['a', 'b'])
  })

  it('takes the chance of the machine where none is given', () => {
    const pool = new Pool({ id: 'p', strategy: 'random', members: called('a', 'b', 'c') })
    expect(Object.keys(tally(calls(pool, 200))).sort()).toEqual(['a', 'b', 'c'])
  })
})
