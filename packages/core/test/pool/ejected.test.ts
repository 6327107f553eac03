import { describe, expect, it } from 'vitest'
import {
  attempts,
  call,
  called,
  calls,
  FAILURE,
  made,
  SUCCESS,
  taken,
  tally,
  thrown,
  withStatus,
} from './setup.js'

const ids = ['a', 'b', 'c', 'd']

describe('maxEjected', () => {
  it('keeps openings beyond the share from any effect on the choice', () => {
    const { pool } = made({ members: called(...ids), maxEjected: 0.5 })
    for (const id of ['b', 'd', 'a']) pool.breaker(id).trip()
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 4)).toEqual(['a', 'c', 'a', 'c'])
  })

  it('lets them have their effect when another is back', () => {
    const { pool } = made({ members: called(...ids), maxEjected: 0.5 })
    for (const id of ['b', 'd', 'c', 'a']) pool.breaker(id).trip()
    pool.breaker('b').reset()
    // c opened before a.
    expect(calls(pool, 4)).toEqual(['a', 'b', 'a', 'b'])
  })

  it('counts a result of one that was spared for nothing in its breaker', () => {
    const { pool } = made({ members: called('a'), maxEjected: 0 })
    pool.breaker('a').trip()
    call(pool, SUCCESS)
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 2, successCount: 1, failureCount: 1 })
  })

  it('does not convict one that was spared by its breaker', () => {
    const { pool } = made({
      members: called('a', 'b'),
      maxEjected: 0,
      memberFaults: [403],
      breaker: { failureThreshold: 1 },
    })
    pool.breaker('a').trip()
    const first = taken(pool)
    const second = taken(pool, undefined, [first])
    pool.recordOutcome(first, thrown(withStatus(403)), [first, second])
    pool.recordOutcome(second, SUCCESS, [first, second])
    expect(pool.stats('a')).toMatchObject({ failureCount: 1, circuitBreakerOpens: 1 })
    expect(pool.breaker('a').failureCount).toBe(0)
  })

  it('does not count those that are drained as set aside', () => {
    const { pool } = made({ members: called(...ids), maxEjected: 0.34 })
    pool.drain('a')
    pool.breaker('a').trip()
    pool.breaker('b').trip()
    expect(pool.status('b')).toBe('open')
    expect(calls(pool, 4)).toEqual(['c', 'd', 'c', 'd'])
  })

  it('tests one that was spared when its time is up', async () => {
    const { pool, clock } = made({ members: called('a'), maxEjected: 0, breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    const [test, other] = [taken(pool), taken(pool)]
    expect(pool.breaker('a').state).toBe('half_open')
    pool.recordOutcome(other, FAILURE, [other])
    expect(pool.breaker('a').state).toBe('half_open')
    pool.recordOutcome(test, SUCCESS, [test])
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('is a share of those that are not drained, rounded down', () => {
    const { pool } = made({ members: called(...ids, 'e'), maxEjected: 0.29 })
    pool.breaker('a').trip()
    pool.breaker('b').trip()
    expect(pool.status('a')).toBe('open')
    expect(pool.status('b')).toBe('available')
    pool.add({ id: 'f', value: '' })
    expect(pool.status('b')).toBe('available')
    pool.add({ id: 'g', value: '' })
    expect(pool.status('b')).toBe('open')
  })

  it('is not cheated by binary fractions', () => {
    const many = Array.from({ length: 100 }, (_, i) => `m${i}`)
    const { pool } = made({ members: called(...many), maxEjected: 0.29 })
    for (const id of many) pool.breaker(id).trip()
    expect(many.filter((id) => pool.status(id) === 'open')).toHaveLength(29)
  })

  it('counts neither those that are drained nor those that are gone', () => {
    const { pool } = made({ members: called(...ids), maxEjected: 0.5 })
    for (const id of ids) pool.breaker(id).trip()
    pool.drain('a')
    // Of three, one may be out: b is.
    expect(ids.map((id) => pool.status(id))).toEqual(['drained', 'open', 'available', 'available'])
    pool.remove('b')
    expect(pool.status('c')).toBe('open')
    pool.enable('a')
    expect(['a', 'c', 'd'].map((id) => pool.status(id))).toEqual(['available', 'open', 'available'])
  })

  it('leaves a rest its effect', () => {
    const { pool } = made({ members: called('a', 'b'), maxEjected: 0 })
    call(pool, thrown(withStatus(429)))
    expect(calls(pool, 2)).toEqual(['b', 'b'])
  })

  it('is off by default', () => {
    const { pool } = made()
    for (const id of ['a', 'b', 'c']) pool.breaker(id).trip()
    expect(pool.pick()).toBeUndefined()
  })
})

describe('panicThreshold', () => {
  it('lets everybody be chosen where too few are available', () => {
    const { pool } = made({ members: called(...ids), panicThreshold: 0.5 })
    for (const id of ['a', 'b']) pool.breaker(id).trip()
    expect(tally(calls(pool, 4))).toEqual({ c: 2, d: 2 })
    pool.breaker('c').trip()
    expect(calls(pool, 4)).toEqual(ids)
    pool.breaker('c').reset()
    expect(tally(calls(pool, 4))).toEqual({ c: 2, d: 2 })
  })

  it('lets those be chosen that rest, and not those that are drained', () => {
    const { pool } = made({ members: called(...ids), panicThreshold: 1 })
    call(pool, thrown(withStatus(429)))
    pool.drain('b')
    expect(calls(pool, 3)).toEqual(['a', 'c', 'd'])
  })

  it('tries each once before any again', () => {
    const { pool } = made({ members: called(...ids), panicThreshold: 1, breaker: { failureThreshold: 9 } })
    for (const id of ids) pool.breaker(id).trip()
    expect(attempts(pool, 5)).toEqual([...ids, 'a'])
  })

  it('counts results for nothing in the breakers that are open, and tests those whose time is up', async () => {
    const { pool, clock } = made({
      members: called('a', 'b'),
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

  it('knows who has come, gone and been used', () => {
    const { pool } = made({ members: called(...ids), strategy: 'least_used', panicThreshold: 1 })
    pool.breaker('a').trip()
    expect(calls(pool, 4)).toEqual(ids)
    pool.remove('b')
    pool.add({ id: 'e', value: '' })
    expect(calls(pool, 3)).toEqual(['e', 'a', 'e'])
    pool.breaker('a').reset()
    expect(calls(pool, 3)).toEqual(['c', 'd', 'a'])
    const region = made({ members: called(...ids), strategy: 'region', panicThreshold: 1 }).pool
    region.breaker('a').trip()
    region.add({ id: 'x', value: '', region: 'there' })
    expect(calls(region, 2, { region: 'there' })).toEqual(['x', 'x'])
    region.remove('x')
    expect(calls(region, 2, { region: 'there' })).toEqual(['a', 'b'])
  })

  it('is off by default, and at 0', () => {
    for (const options of [{}, { panicThreshold: 0 }]) {
      const { pool } = made(options)
      for (const id of ['a', 'b', 'c']) pool.breaker(id).trip()
      expect(pool.select(undefined, [], undefined)).toBeUndefined()
    }
  })

  it('chooses nobody where everybody is drained', () => {
    const { pool } = made({ panicThreshold: 1 })
    for (const id of ['a', 'b', 'c']) pool.drain(id)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })

  it('spares some that were set aside when others leave', () => {
    const { pool } = made({ members: called(...ids), maxEjected: 0.5 })
    for (const id of ['a', 'b']) pool.breaker(id).trip()
    pool.drain('c')
    expect(pool.status('a')).toBe('available') // it was set aside first, so it is the first to be tested
    pool.remove('d')
    expect(calls(pool, 2)).toEqual(['a', 'a'])
    pool.enable('c')
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })
})
