import { describe, expect, it } from 'vitest'
import { Pool } from '../../src/index.js'
import { attempts, call, calls, createPool, FAILURE, membersNamed } from './setup.js'

describe('the strategy round_robin', () => {
  it('is the default', () => {
    const pool = new Pool({ id: 'p', members: membersNamed('a', 'b') })
    expect([pool.pick()?.id, pool.pick()?.id, pool.pick()?.id]).toEqual(['a', 'b', 'a'])
  })

  it('selects the members in turn, in the given order', () => {
    const { pool } = createPool({ strategy: 'round_robin' })
    expect(calls(pool, 7)).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a'])
  })

  it('skips unavailable members and continues from there', () => {
    const { pool } = createPool()
    pool.breaker('b').trip()
    expect(calls(pool, 4)).toEqual(['a', 'c', 'a', 'c'])
    pool.breaker('b').reset()
    expect(calls(pool, 3)).toEqual(['a', 'b', 'c'])
  })

  it('selects every member once before any again in a call', () => {
    const { pool } = createPool({ breaker: { failureThreshold: 9 } })
    expect(attempts(pool, 5)).toEqual(['a', 'b', 'c', 'a', 'b'])
  })

  it('advances with each retry', () => {
    const { pool } = createPool()
    expect(attempts(pool, 2)).toEqual(['a', 'b'])
    expect(call(pool)).toBe('c')
  })

  it('finds the only available member at any position', () => {
    const ids = Array.from({ length: 3000 }, (_, i) => `m${i}`)
    const { pool } = createPool({ members: membersNamed(...ids) })
    for (const last of [0, 31, 32, 1023, 1024, 2999]) {
      for (const id of ids) pool.drain(id)
      pool.enable(`m${last}`)
      expect(calls(pool, 3)).toEqual([`m${last}`, `m${last}`, `m${last}`])
    }
  })

  it('selects thousands of members in turn', () => {
    const ids = Array.from({ length: 2500 }, (_, i) => `m${i}`)
    const { pool } = createPool({ members: membersNamed(...ids) })
    expect(calls(pool, 2500)).toEqual(ids)
    expect(call(pool)).toBe('m0')
  })

  it('gives a new member the slot that was freed last', () => {
    const { pool } = createPool()
    pool.remove('a')
    pool.remove('b')
    pool.add({ id: 'd', value: '' })
    expect(pool.members().map(({ id }) => id)).toEqual(['d', 'c'])
    pool.add({ id: 'e', value: '' })
    pool.add({ id: 'f', value: '' })
    expect(calls(pool, 4)).toEqual(['e', 'd', 'c', 'f'])
  })

  it('advances after a failure', () => {
    const { pool } = createPool()
    expect([call(pool, FAILURE), call(pool, FAILURE), call(pool)]).toEqual(['a', 'b', 'c'])
  })
})
