import { describe, expect, it } from 'vitest'
import { attempts, call, calls, createPool } from './setup.js'

const members = [
  { id: 'dear', value: '', cost: 10 },
  { id: 'cheap1', value: '', cost: 1 },
  { id: 'cheap2', value: '', cost: 1 },
]

describe('the strategy cost', () => {
  it('selects the cheapest member, among equals the least used', () => {
    const { pool } = createPool({ strategy: 'cost', members })
    expect(calls(pool, 4)).toEqual(['cheap1', 'cheap2', 'cheap1', 'cheap2'])
  })

  it('selects a more expensive member while the cheaper ones are unavailable', () => {
    const { pool } = createPool({ strategy: 'cost', members })
    pool.drain('cheap1')
    pool.breaker('cheap2').trip()
    expect(call(pool)).toBe('dear')
    pool.enable('cheap1')
    expect(call(pool)).toBe('cheap1')
  })

  it('selects more expensive members after the cheaper ones were tried', () => {
    const { pool } = createPool({ strategy: 'cost', members })
    expect(attempts(pool, 4)).toEqual(['cheap1', 'cheap2', 'dear', 'cheap1'])
    expect(call(pool)).toBe('cheap2')
  })

  it('uses 0 as the cost of a member without one', () => {
    const { pool } = createPool({ strategy: 'cost', members: [...members, { id: 'free', value: '' }] })
    expect(calls(pool, 2)).toEqual(['free', 'free'])
  })
})
