import { describe, expect, it } from 'vitest'
import { attempts, calls, countById, createPool, membersNamed } from './setup.js'

const weights = (...given: (number | undefined)[]) =>
  given.map((weight, i) => ({
    id: 'abcdefgh'[i] as string,
    value: '',
    ...(weight === undefined ? {} : { weight }),
  }))

const shares = (ids: readonly string[]) =>
  Object.fromEntries(Object.entries(countById(ids)).map(([id, count]) => [id, count / ids.length]))

describe('the strategy weighted', () => {
  it('selects in proportion to the weights, 1 by default', () => {
    const { pool } = createPool({ strategy: 'weighted', members: weights(undefined, 2, 5) })
    const { a, b, c } = shares(calls(pool, 20_000))
    expect(a).toBeCloseTo(1 / 8, 1.5)
    expect(b).toBeCloseTo(2 / 8, 1.5)
    expect(c).toBeCloseTo(5 / 8, 1.5)
  })

  it('is exact at the borders between members', () => {
    let next = 0
    const { pool } = createPool({ strategy: 'weighted', members: weights(1, 2, 5), random: () => next })
    const at = (point: number) => {
      next = point / 8
      return calls(pool, 1)[0]
    }
    expect([0, 0.999, 1, 2.999, 3, 7.999].map(at)).toEqual(['a', 'a', 'b', 'b', 'c', 'c'])
  })

  it('ignores the weight of unavailable members', () => {
    const { pool } = createPool({ strategy: 'weighted', members: weights(1, 2, 5) })
    pool.breaker('c').trip()
    const { a, b, c } = shares(calls(pool, 10_000))
    expect(a).toBeCloseTo(1 / 3, 1.5)
    expect(b).toBeCloseTo(2 / 3, 1.5)
    expect(c).toBeUndefined()
  })

  it('excludes tried members and restores their weights', () => {
    const { pool } = createPool({
      strategy: 'weighted',
      members: weights(1, 1, 1000),
      breaker: { failureThreshold: 1e6 },
    })
    for (let i = 0; i < 200; i++) expect(new Set(attempts(pool, 3)).size).toBe(3)
    expect(shares(calls(pool, 2000)).c).toBeGreaterThan(0.95)
  })

  it('selects a member of weight 0 only if no other is available', () => {
    const { pool } = createPool({ strategy: 'weighted', members: weights(0, 0, 1) })
    expect(countById(calls(pool, 100))).toEqual({ c: 100 })
    expect(attempts(pool, 2)[0]).toBe('c')
    pool.drain('c')
    expect(Object.keys(countById(calls(pool, 100))).sort()).toEqual(['a', 'b'])
  })

  it('accumulates no rounding errors when weights change', () => {
    const { pool } = createPool({ strategy: 'weighted', members: weights(0.1, 0.2, 0.3, 1e9) })
    for (let i = 0; i < 1000; i++) {
      pool.drain('d')
      pool.enable('d')
    }
    for (const id of ['a', 'b', 'd']) pool.drain(id)
    expect(countById(calls(pool, 100))).toEqual({ c: 100 })
  })

  it('always selects a member at the end of the sum', () => {
    const { pool } = createPool({
      strategy: 'weighted',
      members: weights(0.1, 0.7, 0.2),
      random: () => 1 - 2 ** -53,
    })
    pool.drain('c')
    expect(calls(pool, 1)).toEqual(['b'])
  })

  it('keeps the weights of hundreds of members', () => {
    const ids = Array.from({ length: 300 }, (_, i) => `m${i}`)
    const members = membersNamed(...ids).map((member, i) => ({ ...member, weight: i % 3 }))
    const { pool } = createPool({ strategy: 'weighted', members })
    const counts = countById(calls(pool, 30_000))
    expect(Object.keys(counts)).toHaveLength(200)
    const twos = ids.filter((_, i) => i % 3 === 2).reduce((sum, id) => sum + (counts[id] ?? 0), 0)
    expect(twos / 30_000).toBeCloseTo(2 / 3, 1.5)
  })
})
