import { describe, expect, it } from 'vitest'
import {
  attempts,
  call,
  calls,
  countById,
  createPool,
  FAILURE,
  membersNamed,
  SUCCESS,
  selectMember,
  thrown,
  withStatus,
} from './setup.js'

const ids = ['a', 'b', 'c', 'd']

describe('maxEjected', () => {
  it('ignores open breakers beyond the limit in the selection', () => {
    const { pool } = createPool({ members: membersNamed(...ids), maxEjected: 0.5 })
    for (const id of ['b', 'd', 'a']) pool.breaker(id).trip()
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 4)).toEqual(['a', 'c', 'a', 'c'])
  })

  it('ejects an exempt member when another recovers', () => {
    const { pool } = createPool({ members: membersNamed(...ids), maxEjected: 0.5 })
    for (const id of ['b', 'd', 'c', 'a']) pool.breaker(id).trip()
    pool.breaker('b').reset()
    // c opened before a.
    expect(calls(pool, 4)).toEqual(['a', 'b', 'a', 'b'])
  })

  it('does not record outcomes of an exempt member in its breaker', () => {
    const { pool } = createPool({ members: membersNamed('a'), maxEjected: 0 })
    pool.breaker('a').trip()
    call(pool, SUCCESS)
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 2, successCount: 1, failureCount: 1 })
  })

  it('does not count a deferred failure of an exempt member in its breaker', () => {
    const { pool } = createPool({
      members: membersNamed('a', 'b'),
      maxEjected: 0,
      memberFaults: [403],
      breaker: { failureThreshold: 1 },
    })
    pool.breaker('a').trip()
    const first = selectMember(pool)
    const second = selectMember(pool, undefined, [first])
    pool.recordOutcome(first, thrown(withStatus(403)), [first, second])
    pool.recordOutcome(second, SUCCESS, [first, second])
    expect(pool.stats('a')).toMatchObject({ failureCount: 1, circuitBreakerOpens: 1 })
    expect(pool.breaker('a').failureCount).toBe(0)
  })

  it('does not count drained members as ejected', () => {
    const { pool } = createPool({ members: membersNamed(...ids), maxEjected: 0.34 })
    pool.drain('a')
    pool.breaker('a').trip()
    pool.breaker('b').trip()
    expect(pool.status('b')).toBe('open')
    expect(calls(pool, 4)).toEqual(['c', 'd', 'c', 'd'])
  })

  it('probes an exempt member when its open duration has passed', async () => {
    const { pool, clock } = createPool({
      members: membersNamed('a'),
      maxEjected: 0,
      breaker: { timeoutDuration: 100 },
    })
    pool.breaker('a').trip()
    await clock.advance(100)
    const [test, other] = [selectMember(pool), selectMember(pool)]
    expect(pool.breaker('a').state).toBe('half_open')
    pool.recordOutcome(other, FAILURE, [other])
    expect(pool.breaker('a').state).toBe('half_open')
    pool.recordOutcome(test, SUCCESS, [test])
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('is a fraction of the members that are not drained, rounded down', () => {
    const { pool } = createPool({ members: membersNamed(...ids, 'e'), maxEjected: 0.29 })
    pool.breaker('a').trip()
    pool.breaker('b').trip()
    expect(pool.status('a')).toBe('open')
    expect(pool.status('b')).toBe('available')
    pool.add({ id: 'f', value: '' })
    expect(pool.status('b')).toBe('available')
    pool.add({ id: 'g', value: '' })
    expect(pool.status('b')).toBe('open')
  })

  it('tolerates the rounding errors of binary fractions', () => {
    const many = Array.from({ length: 100 }, (_, i) => `m${i}`)
    const { pool } = createPool({ members: membersNamed(...many), maxEjected: 0.29 })
    for (const id of many) pool.breaker(id).trip()
    expect(many.filter((id) => pool.status(id) === 'open')).toHaveLength(29)
  })

  it('counts neither drained nor removed members', () => {
    const { pool } = createPool({ members: membersNamed(...ids), maxEjected: 0.5 })
    for (const id of ids) pool.breaker(id).trip()
    pool.drain('a')
    // Of three members one can be ejected, which is b.
    expect(ids.map((id) => pool.status(id))).toEqual(['drained', 'open', 'available', 'available'])
    pool.remove('b')
    expect(pool.status('c')).toBe('open')
    pool.enable('a')
    expect(['a', 'c', 'd'].map((id) => pool.status(id))).toEqual(['available', 'open', 'available'])
  })

  it('does not limit cooldowns', () => {
    const { pool } = createPool({ members: membersNamed('a', 'b'), maxEjected: 0 })
    call(pool, thrown(withStatus(429)))
    expect(calls(pool, 2)).toEqual(['b', 'b'])
  })

  it('has no effect by default', () => {
    const { pool } = createPool()
    for (const id of ['a', 'b', 'c']) pool.breaker(id).trip()
    expect(pool.pick()).toBeUndefined()
  })
})

describe('panicThreshold', () => {
  it('selects among all members when too few are available', () => {
    const { pool } = createPool({ members: membersNamed(...ids), panicThreshold: 0.5 })
    for (const id of ['a', 'b']) pool.breaker(id).trip()
    expect(countById(calls(pool, 4))).toEqual({ c: 2, d: 2 })
    pool.breaker('c').trip()
    expect(calls(pool, 4)).toEqual(ids)
    pool.breaker('c').reset()
    expect(countById(calls(pool, 4))).toEqual({ c: 2, d: 2 })
  })

  it('selects members in a cooldown, but not drained ones', () => {
    const { pool } = createPool({ members: membersNamed(...ids), panicThreshold: 1 })
    call(pool, thrown(withStatus(429)))
    pool.drain('b')
    expect(calls(pool, 3)).toEqual(['a', 'c', 'd'])
  })

  it('selects every member once before any again', () => {
    const { pool } = createPool({
      members: membersNamed(...ids),
      panicThreshold: 1,
      breaker: { failureThreshold: 9 },
    })
    for (const id of ids) pool.breaker(id).trip()
    expect(attempts(pool, 5)).toEqual([...ids, 'a'])
  })

  it('does not record outcomes in open breakers, and probes those whose open duration has passed', async () => {
    const { pool, clock } = createPool({
      members: membersNamed('a', 'b'),
      panicThreshold: 1,
      breaker: { timeoutDuration: 100 },
    })
    pool.breaker('a').trip()
    await clock.advance(50)
    pool.breaker('b').trip()
    expect(calls(pool, 2)).toEqual(['a', 'b'])
    expect(pool.breaker('a').state).toBe('open')
    await clock.advance(50)
    expect(calls(pool, 2)).toEqual(['a', 'b'])
    expect([pool.breaker('a').state, pool.breaker('b').state]).toEqual(['closed', 'open'])
  })

  it('follows added, removed and used members', () => {
    const { pool } = createPool({ members: membersNamed(...ids), strategy: 'least_used', panicThreshold: 1 })
    pool.breaker('a').trip()
    expect(calls(pool, 4)).toEqual(ids)
    pool.remove('b')
    pool.add({ id: 'e', value: '' })
    expect(calls(pool, 3)).toEqual(['e', 'a', 'e'])
    pool.breaker('a').reset()
    expect(calls(pool, 3)).toEqual(['c', 'd', 'a'])
    const region = createPool({ members: membersNamed(...ids), strategy: 'region', panicThreshold: 1 }).pool
    region.breaker('a').trip()
    region.add({ id: 'x', value: '', region: 'there' })
    expect(calls(region, 2, { region: 'there' })).toEqual(['x', 'x'])
    region.remove('x')
    expect(calls(region, 2, { region: 'there' })).toEqual(['a', 'b'])
  })

  it('has no effect by default and at 0', () => {
    for (const options of [{}, { panicThreshold: 0 }]) {
      const { pool } = createPool(options)
      for (const id of ['a', 'b', 'c']) pool.breaker(id).trip()
      expect(pool.select(undefined, [], undefined)).toBeUndefined()
    }
  })

  it('selects no member when all are drained', () => {
    const { pool } = createPool({ panicThreshold: 1 })
    for (const id of ['a', 'b', 'c']) pool.drain(id)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })

  it('makes ejected members exempt when others leave', () => {
    const { pool } = createPool({ members: membersNamed(...ids), maxEjected: 0.5 })
    for (const id of ['a', 'b']) pool.breaker(id).trip()
    pool.drain('c')
    expect(pool.status('a')).toBe('available') // It was ejected first, so it becomes exempt first.
    pool.remove('d')
    expect(calls(pool, 2)).toEqual(['a', 'a'])
    pool.enable('c')
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })
})
