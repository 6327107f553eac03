import { describe, expect, it } from 'vitest'
import type { Pool } from '../../src/index.js'
import { seededRandom } from '../../src/testing/index.js'
import { attempts, call, calls, countById, createPool, FAILURE, membersNamed, SUCCESS } from './setup.js'

/** Records results for a single member. */
function results(pool: Pool<string>, id: string, list: readonly [failed: boolean, duration: number][]) {
  const others = pool.members().filter((member) => member.id !== id)
  for (const other of others) pool.drain(other.id)
  for (const [failed, duration] of list) call(pool, { ...(failed ? FAILURE : SUCCESS), duration })
  for (const other of others) pool.enable(other.id)
}

const options = { strategy: 'score', breaker: { failureThreshold: 1e9 } } as const

describe('the strategy score', () => {
  it('gives an unused member a score of 0.5', () => {
    const { pool } = createPool(options)
    expect(pool.stats('a').score).toBe(0.5)
  })

  it('weights the success rate with 0.7 and the latency relative to the slowest with 0.3', () => {
    const { pool } = createPool(options)
    results(pool, 'a', [
      [false, 50],
      [true, 150],
      [false, 100],
      [false, 100],
    ])
    results(pool, 'b', [[false, 400]])
    expect(pool.stats('a').score).toBeCloseTo(0.7 * 0.75 + 0.3 * (1 - 100 / 400), 12)
    expect(pool.stats('b').score).toBeCloseTo(0.7, 12)
    results(pool, 'c', [[true, 800]])
    expect(pool.stats('b').score).toBeCloseTo(0.7 + 0.3 / 2, 12)
    expect(pool.stats('c').score).toBe(0)
  })

  it('handles latencies of 0', () => {
    const { pool } = createPool(options)
    results(pool, 'a', [[false, 0]])
    expect(pool.stats('a').score).toBe(1)
  })

  it('uses exactly the last hundred results', () => {
    const random = seededRandom(5)
    const { pool } = createPool({ ...options, members: membersNamed('a', 'slowest') })
    results(pool, 'slowest', [[false, 1000]])
    const log: [boolean, number][] = []
    for (let i = 0; i < 350; i++) {
      const result: [boolean, number] = [random() < 0.3, Math.floor(random() * 500)]
      log.push(result)
      results(pool, 'a', [result])
      const last = log.slice(-100)
      const rate = last.filter(([failed]) => !failed).length / last.length
      const mean = last.reduce((sum, [, duration]) => sum + duration, 0) / last.length
      expect(pool.stats('a').score).toBeCloseTo(0.7 * rate + 0.3 * (1 - mean / 1000), 7)
    }
  })

  it('uses results with a duration of 0 too', () => {
    const { pool } = createPool({ ...options, members: membersNamed('a', 'slowest') })
    results(pool, 'slowest', [[false, 1000]])
    results(pool, 'a', Array(100).fill([false, 0]))
    results(pool, 'a', Array(50).fill([true, 0]))
    expect(pool.stats('a').score).toBeCloseTo(0.7 / 2 + 0.3, 12)
  })

  it('does not accumulate rounding errors over thousands of results', () => {
    const random = seededRandom(9)
    const { pool } = createPool({ ...options, members: membersNamed('a', 'slowest') })
    results(pool, 'slowest', [[false, 1e9]])
    const log: [boolean, number][] = []
    for (let i = 0; i < 20_000; i++) log.push([false, random() < 0.5 ? 1e9 * random() : random()])
    for (let i = 0; i < 100; i++) log.push([false, 1])
    results(pool, 'a', log)
    expect(pool.stats('a').score).toBeCloseTo(0.7 + 0.3 * (1 - 1e-9), 12)
  })

  it('updates the highest latency when the slowest member leaves', () => {
    const { pool } = createPool(options)
    results(pool, 'a', [[false, 100]])
    results(pool, 'b', [[false, 400]])
    pool.remove('b')
    expect(pool.stats('a').score).toBeCloseTo(0.7, 12)
    pool.add({ id: 'd', value: '' })
    expect(pool.stats('d').score).toBe(0.5)
  })

  it('keeps the results of members separate while members are added and removed', () => {
    const { pool } = createPool({ ...options, members: membersNamed('a', 'b', 'c', 'd') })
    for (const id of ['a', 'b', 'c', 'd']) results(pool, id, Array(20).fill([false, 100]))
    pool.remove('b')
    pool.remove('c')
    for (const id of ['x', 'y', 'z']) pool.add({ id, value: '' })
    for (const id of ['x', 'y', 'z']) results(pool, id, Array(50).fill([true, 100]))
    for (const id of ['a', 'd']) expect(pool.stats(id).score).toBeCloseTo(0.7, 12)
    for (const id of ['x', 'y', 'z']) expect(pool.stats(id).score).toBe(0)
  })

  it('selects the best member', () => {
    const { pool } = createPool(options)
    results(pool, 'a', [[false, 100]])
    results(pool, 'b', [[false, 10]])
    expect(countById(calls(pool, 10))).toEqual({ b: 10 })
    results(pool, 'b', [[true, 10]])
    expect(call(pool)).toBe('b')
    results(pool, 'b', Array(9).fill([true, 10]))
    expect(call(pool)).toBe('a')
  })

  it('selects the least used among equals, then the first', () => {
    const { pool } = createPool(options)
    expect(attempts(pool, 3)).toEqual(['a', 'b', 'c'])
    expect(attempts(pool, 1)).toEqual(['a'])
    const other = createPool(options).pool
    expect([other.pick()?.id, other.pick()?.id, other.pick()?.id, other.pick()?.id]).toEqual([
      'a',
      'b',
      'c',
      'a',
    ])
  })

  it('selects the next best member for a retry', () => {
    const { pool } = createPool(options)
    results(pool, 'a', [[false, 100]])
    results(pool, 'b', [[false, 10]])
    results(pool, 'c', [[false, 50]])
    expect(attempts(pool, 3)).toEqual(['b', 'c', 'a'])
  })

  it.each([64, 65])('selects among %d members', (count) => {
    const ids = Array.from({ length: count }, (_, i) => `m${i}`)
    const { pool } = createPool({ ...options, members: membersNamed(...ids) })
    results(pool, 'm40', [[false, 1]])
    const chosen = Array.from({ length: 40 }, () => pool.pick()?.id)
    // Up to 64 members the best of all is selected, above it the best of a sample of eight.
    if (count === 64) expect(new Set(chosen)).toEqual(new Set(['m40']))
    else expect(new Set(chosen).size).toBeGreaterThan(10)
  })

  it('finds a good member among many, and none twice in a call', () => {
    const ids = Array.from({ length: 200 }, (_, i) => `m${i}`)
    const { pool } = createPool({ ...options, members: membersNamed(...ids) })
    for (const [i, id] of ids.entries()) results(pool, id, [[i % 2 === 0, 10]])
    const chosen = calls(pool, 200)
    const odd = chosen.filter((id) => Number(id.slice(1)) % 2 === 1)
    // All eight members of the sample are bad in one of 256 cases.
    expect(odd.length).toBeGreaterThan(190)
    expect(new Set(attempts(pool, 200)).size).toBe(200)
  })

  it('reports no score with another strategy', () => {
    const { pool } = createPool()
    expect('score' in pool.stats('a')).toBe(false)
  })
})
