import { describe, expect, it } from 'vitest'
import { attempts, call, calls, createPool, FAILURE, membersNamed, selectMember } from './setup.js'

describe('the strategy least_used', () => {
  it('selects the member with the fewest started calls, among equals the first', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    expect(calls(pool, 6)).toEqual(['a', 'b', 'c', 'a', 'b', 'c'])
  })

  it('counts calls when they start, not when they end', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    const ids = Array.from({ length: 4 }, () => selectMember(pool).member.id)
    expect(ids).toEqual(['a', 'b', 'c', 'a'])
  })

  it('counts failed calls too', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    expect([call(pool, FAILURE), call(pool)]).toEqual(['a', 'b'])
  })

  it('lets a member that was unavailable catch up', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    pool.drain('b')
    expect(calls(pool, 4)).toEqual(['a', 'c', 'a', 'c'])
    pool.enable('b')
    expect(calls(pool, 4)).toEqual(['b', 'b', 'a', 'b'])
  })

  it('lets a new member catch up, also in a reused slot', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    calls(pool, 6)
    pool.remove('b')
    pool.add({ id: 'd', value: '' })
    expect(calls(pool, 3)).toEqual(['d', 'd', 'a'])
  })

  it('selects untried members first, and keeps the counts of tried ones', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    expect(attempts(pool, 4)).toEqual(['a', 'b', 'c', 'a'])
    expect(call(pool)).toBe('b')
  })

  it('distributes calls evenly over hundreds of members', () => {
    const ids = Array.from({ length: 500 }, (_, i) => `m${i}`)
    const { pool } = createPool({ strategy: 'least_used', members: membersNamed(...ids) })
    expect(calls(pool, 1000)).toEqual([...ids, ...ids])
  })
})
