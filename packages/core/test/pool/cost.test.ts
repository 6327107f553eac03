import { describe, expect, it } from 'vitest'
import { attempts, call, calls, made } from './setup.js'

const members = [
  { id: 'dear', value: '', cost: 10 },
  { id: 'cheap1', value: '', cost: 1 },
  { id: 'cheap2', value: '', cost: 1 },
]

describe('cost', () => {
  it('chooses the cheapest, and the one of them that was used least', () => {
    const { pool } = made({ strategy: 'cost', members })
    expect(calls(pool, 4)).toEqual(['cheap1', 'cheap2', 'cheap1', 'cheap2'])
  })

  it('chooses a dearer one while the cheaper ones are out', () => {
    const { pool } = made({ strategy: 'cost', members })
    pool.drain('cheap1')
    pool.breaker('cheap2').trip()
    expect(call(pool)).toBe('dear')
    pool.enable('cheap1')
    expect(call(pool)).toBe('cheap1')
  })

  it('tries the dearer ones when the cheaper ones were tried', () => {
    const { pool } = made({ strategy: 'cost', members })
    expect(attempts(pool, 4)).toEqual(['cheap1', 'cheap2', 'dear', 'cheap1'])
    expect(call(pool)).toBe('cheap2')
  })

  it('takes a member without a cost for free', () => {
    const { pool } = made({ strategy: 'cost', members: [...members, { id: 'free', value: '' }] })
    expect(calls(pool, 2)).toEqual(['free', 'free'])
  })
})
