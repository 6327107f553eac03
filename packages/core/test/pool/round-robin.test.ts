import { describe, expect, it } from 'vitest'
import { Pool } from '../../src/index.js'
import { attempts, call, called, calls, FAILURE, made } from './setup.js'

describe('round_robin', () => {
  it('is the default', () => {
    const pool = new Pool({ id: 'p', members: called('a', 'b') })
    expect([pool.pick()?.id, pool.pick()?.id, pool.pick()?.id]).toEqual(['a', 'b', 'a'])
  })

  it('gives each member its turn, in the order they were given', () => {
    const { pool } = made({ strategy: 'round_robin' })
    expect(calls(pool, 7)).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'a'])
  })

  it('passes over those that are out and goes on from there', () => {
    const { pool } = made()
    pool.breaker('b').trip()
    expect(calls(pool, 4)).toEqual(['a', 'c', 'a', 'c'])
    pool.breaker('b').reset()
    expect(calls(pool, 3)).toEqual(['a', 'b', 'c'])
  })

  it('tries each member once before any again', () => {
    const { pool } = made({ breaker: { failureThreshold: 9 } })
    expect(attempts(pool, 5)).toEqual(['a', 'b', 'c', 'a', 'b'])
  })

  it('goes on to the next turn with a retry', () => {
    const { pool } = made()
    expect(attempts(pool, 2)).toEqual(['a', 'b'])
    expect(call(pool)).toBe('c')
  })

  it('finds the one that is left, wherever it is', () => {
    const ids = Array.from({ length: 3000 }, (_, i) => `m${i}`)
    const { pool } = made({ members: called(...ids) })
    for (const last of [0, 31, 32, 1023, 1024, 2999]) {
      for (const id of ids) pool.drain(id)
      pool.enable(`m${last}`)
      expect(calls(pool, 3)).toEqual([`m${last}`, `m${last}`, `m${last}`])
    }
  })

  it('gives thousands of members their turns', () => {
    const ids = Array.from({ length: 2500 }, (_, i) => `m${i}`)
    const { pool } = made({ members: called(...ids) })
    expect(calls(pool, 2500)).toEqual(ids)
    expect(call(pool)).toBe('m0')
  })

  it('gives a new member the place of the one that left last', () => {
    const { pool } = made()
    pool.remove('a')
    pool.remove('b')
    pool.add({ id: 'd', value: '' })
    expect(pool.members().map(({ id }) => id)).toEqual(['d', 'c'])
    pool.add({ id: 'e', value: '' })
    pool.add({ id: 'f', value: '' })
    expect(calls(pool, 4)).toEqual(['e', 'd', 'c', 'f'])
  })

  it('takes a failure for a turn', () => {
    const { pool } = made()
    expect([call(pool, FAILURE), call(pool, FAILURE), call(pool)]).toEqual(['a', 'b', 'c'])
  })
})
