import { describe, expect, it } from 'vitest'
import { attempts, call, called, calls, FAILURE, made, taken } from './setup.js'

describe('least_used', () => {
  it('chooses the one with the fewest calls started; among equals the first', () => {
    const { pool } = made({ strategy: 'least_used' })
    expect(calls(pool, 6)).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('counts calls when they start, not when they end', () => {
    const { pool } = made({ strategy: 'least_used' })
    const ids = Array.from({ length: 4 }, () => taken(pool).member.id)
    expect(ids).toEqual(['a', 'b', 'c', 'a'])
  })

  it('counts failures as well', () => {
    const { pool } = made({ strategy: 'least_used' })
    expect([call(pool, FAILURE), call(pool)]).toEqual(['a', 'b'])
  })

  it('lets one that was out catch up', () => {
    const { pool } = made({ strategy: 'least_used' })
    pool.drain('b')
    expect(calls(pool, 4)).toEqual(['a', 'c', 'a', 'c'])
    pool.enable('b')
    expect(calls(pool, 4)).toEqual(['b', 'b', 'a', 'b'])
  })

  it('lets a new one catch up, also in the place of one that left', () => {
    const { pool } = made({ strategy: 'least_used' })
    calls(pool, 6)
    pool.remove('b')
    pool.add({ id: 'd', value: '' })
    expect(calls(pool, 3)).toEqual(['d', 'd', 'a'])
  })

  it('tries the others first, and keeps count of those that were tried', () => {
    const { pool } = made({ strategy: 'least_used' })
    expect(attempts(pool, 4)).toEqual(['a', 'b', 'c', 'a'])
    expect(call(pool)).toBe('b')
  })

  it('is even over hundreds of members', () => {
    const ids = Array.from({ length: 500 }, (_, i) => `m${i}`)
    const { pool } = made({ strategy: 'least_used', members: called(...ids) })
    expect(calls(pool, 1000)).toEqual([...ids, ...ids])
  })
})
