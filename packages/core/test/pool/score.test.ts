import { describe, expect, it } from 'vitest'
import type { Pool } from '../../src/index.js'
import { seededRandom } from '../../src/testing/index.js'
import { attempts, call, called, calls, FAILURE, made, SUCCESS, tally } from './setup.js'

/** Results for one member alone. */
function results(pool: Pool<string>, id: string, list: readonly [failed: boolean, duration: number][]) {
  const others = pool.members().filter((member) => member.id !== id)
  for (const other of others) pool.drain(other.id)
  for (const [failed, duration] of list) call(pool, { ...(failed ? FAILURE : SUCCESS), duration })
  for (const other of others) pool.enable(other.id)
}

const options = { strategy: 'score', breaker: { failureThreshold: 1e9 } } as const

describe('score', () => {
  it('is 0.5 for a member that was never used', () => {
    const { pool } = made(options)
    expect(pool.stats('a').score).toBe(0.5)
  })

  it('is 0.7 of the success rate and 0.3 of how much quicker it is than the slowest', () => {
    const { pool } = made(options)
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

  it('is not troubled by latencies of 0', () => {
    const { pool } = made(options)
    results(pool, 'a', [[false, 0]])
    expect(pool.stats('a').score).toBe(1)
  })

  it('looks back on the last hundred results, exactly', () => {
    const random = seededRandom(5)
    const { pool } = made({ ...options, members: called('a', 'slowest') })
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

  it('looks back over results that took no time as well', () => {
    const { pool } = made({ ...options, members: called('a', 'slowest') })
    results(pool, 'slowest', [[false, 1000]])
    results(pool, 'a', Array(100).fill([false, 0]))
    results(pool, 'a', Array(50).fill([true, 0]))
    expect(pool.stats('a').score).toBeCloseTo(0.7 / 2 + 0.3, 12)
  })

  it('does not drift over thousands of results', () => {
    const random = seededRandom(9)
    const { pool } = made({ ...options, members: called('a', 'slowest') })
    results(pool, 'slowest', [[false, 1e9]])
    const log: [boolean, number][] = []
    for (let i = 0; i < 20_000; i++) log.push([false, random() < 0.5 ? 1e9 * random() : random()])
    for (let i = 0; i < 100; i++) log.push([false, 1])
    results(pool, 'a', log)
    expect(pool.stats('a').score).toBeCloseTo(0.7 + 0.3 * (1 - 1e-9), 12)
  })

  it('forgets the slowest when it leaves', () => {
    const { pool } = made(options)
    results(pool, 'a', [[false, 100]])
    results(pool, 'b', [[false, 400]])
    pool.remove('b')
    expect(pool.stats('a').score).toBeCloseTo(0.7, 12)
    pool.add({ id: 'd', value: '' })
    expect(pool.stats('d').score).toBe(0.5)
  })

  it('keeps the results of each member apart while they come and go', () => {
    const { pool } = made({ ...options, members: called('a', 'b', 'c', 'd') })
    for (const id of ['a', 'b', 'c', 'd']) results(pool, id, Array(20).fill([false, 100]))
    pool.remove('b')
    pool.remove('c')
    for (const id of ['x', 'y', 'z']) pool.add({ id, value: '' })
    for (const id of ['x', 'y', 'z']) results(pool, id, Array(50).fill([true, 100]))
    for (const id of ['a', 'd']) expect(pool.stats(id).score).toBeCloseTo(0.7, 12)
    for (const id of ['x', 'y', 'z']) expect(pool.stats(id).score).toBe(0)
  })

  it('chooses the best', () => {
    const { pool } = made(options)
    results(pool, 'a', [[false, 100]])
    results(pool, 'b', [[false, 10]])
    expect(tally(calls(pool, 10))).toEqual({ b: 10 })
    results(pool, 'b', [[true, 10]])
    expect(call(pool)).toBe('b')
    results(pool, 'b', Array(9).fill([true, 10]))
    expect(call(pool)).toBe('a')
  })

  it('chooses the one used least among equals, then the first', () => {
    const { pool } = made(options)
    expect(attempts(pool, 3)).toEqual(['a', 'b', 'c'])
    expect(attempts(pool, 1)).toEqual(['a'])
    const other = made(options).pool
    expect([other.pick()?.id, other.pick()?.id, other.pick()?.id, other.pick()?.id]).toEqual([
      'a',
      'b',
      'c',
      'a',
    ])
  })

  it('tries the next best after it', () => {
    const { pool } = made(options)
    results(pool, 'a', [[false, 100]])
    results(pool, 'b', [[false, 10]])
    results(pool, 'c', [[false, 50]])
    expect(attempts(pool, 3)).toEqual(['b', 'c', 'a'])
  })

  it.each([64, 65])('of %d members it', (count) => {
    const ids = Array.from({ length: count }, (_, i) => `m${i}`)
    const { pool } = made({ ...options, members: called(...ids) })
    results(pool, 'm40', [[false, 1]])
    const chosen = Array.from({ length: 40 }, () => pool.pick()?.id)
    // The best of all up to 64, the best of eight that were drawn above.
    if (count === 64) expect(new Set(chosen)).toEqual(new Set(['m40']))
    else expect(new Set(chosen).size).toBeGreaterThan(10)
  })

  it('finds a good one among many, and none twice in a call', () => {
    const ids = Array.from({ length: 200 }, (_, i) => `m${i}`)
    const { pool } = made({ ...options, members: called(...ids) })
    for (const [i, id] of ids.entries()) results(pool, id, [[i % 2 === 0, 10]])
    const chosen = calls(pool, 200)
    const odd = chosen.filter((id) => Number(id.slice(1)) % 2 === 1)
    // All eight that are drawn are bad once in 256 times.
    expect(odd.length).toBeGreaterThan(190)
    expect(new Set(attempts(pool, 200)).size).toBe(200)
  })

  it('has no score where the strategy is another', () => {
    const { pool } = made()
    expect('score' in pool.stats('a')).toBe(false)
  })
})
