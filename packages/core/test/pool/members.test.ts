import { describe, expect, it } from 'vitest'
import { Pool, type PoolEvent } from '../../src/index.js'
import { call, called, calls, FAILURE, made, NOTHING, SUCCESS, taken, thrown, withStatus } from './setup.js'

const ZERO = {
  totalAttempts: 0,
  successCount: 0,
  failureCount: 0,
  avgLatency: 0,
  circuitBreakerOpens: 0,
}

describe('the members of a pool', () => {
  it('are kept as they are given, in order', () => {
    const members = called('a', 'b')
    const { pool } = made({ members })
    expect(pool.members()).toEqual(members)
    expect(pool.members()[0]).toBe(members[0])
    expect(pool.size).toBe(2)
    expect(taken(pool).member).toBe(members[0])
  })

  it('may be none at first', () => {
    const { pool } = made({ members: [] })
    expect(pool.pick()).toBeUndefined()
    pool.add({ id: 'a', value: 'x' })
    expect(pool.pick()?.value).toBe('x')
  })

  it('need not be given', () => {
    const { clock } = made()
    expect(new Pool({ id: 'p', clock }).size).toBe(0)
  })

  it('are new to a call that tried the last one in their place', () => {
    const { pool } = made({ members: called('a'), memberFaults: [403] })
    const pick = taken(pool)
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    expect(pool.recordOutcome(pick, thrown(withStatus(403)), [pick])).toBe(true)
  })

  it('are chosen no more when they have been removed', () => {
    const { pool } = made()
    pool.remove('b')
    expect(calls(pool, 3)).toEqual(['a', 'c', 'a'])
    expect(pool.size).toBe(2)
  })

  it('are chosen no more while they are drained, and count what is in flight', () => {
    const { pool } = made()
    const pick = taken(pool)
    pool.drain('a')
    expect(pool.status('a')).toBe('drained')
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    pool.recordOutcome(pick, FAILURE, [pick])
    expect(pool.stats('a').failureCount).toBe(1)
    expect(pool.breaker('a').failureCount).toBe(1)
    pool.enable('a')
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 3)).toEqual(['c', 'a', 'b'])
  })

  it('may be removed while they are drained', () => {
    const { pool } = made()
    pool.drain('a')
    pool.remove('a')
    pool.add({ id: 'a', value: '' })
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 3)).toEqual(['a', 'b', 'c'])
  })

  it('are not told the results of those that were in their place before', () => {
    const { pool } = made({ breaker: { failureThreshold: 1 } })
    const late = taken(pool)
    pool.remove('a')
    pool.add({ id: 'a', value: 'new' })
    pool.recordOutcome(late, FAILURE, [late])
    expect(pool.stats('a')).toEqual({ proxyId: 'a', ...ZERO })
    expect(pool.breaker('a').state).toBe('closed')
    // Having been tried, the old one does not stand in the way of the new one.
    pool.drain('b')
    pool.drain('c')
    expect(taken(pool, undefined, [late]).member.value).toBe('new')
  })

  it('come back with a clean slate', () => {
    const { pool } = made({ breaker: { failureThreshold: 2 } })
    call(pool, FAILURE)
    pool.breaker('b').trip()
    for (const id of ['a', 'b']) pool.remove(id)
    for (const id of ['b', 'a']) pool.add({ id, value: '' })
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'closed', failureCount: 0 })
    expect(pool.breaker('a').snapshot().lastFailureTime).toBeUndefined()
    expect(pool.breaker('b').state).toBe('closed')
    for (const id of ['a', 'b']) expect(pool.stats(id)).toEqual({ proxyId: id, ...ZERO })
  })

  it('are no longer heard of when they are gone', () => {
    const { pool } = made()
    const gone = pool.breaker('a')
    const events: PoolEvent[] = []
    pool.remove('a')
    pool.add({ id: 'd', value: '' })
    pool.on((event) => events.push(event))
    gone.trip()
    gone.trip()
    expect(events).toEqual([])
    expect(pool.stats('d').circuitBreakerOpens).toBe(0)
    expect(call(pool)).toBe('d')
  })

  it('are counted one by one', async () => {
    const { pool } = made({ members: called('a'), breaker: { failureThreshold: 2 } })
    expect(pool.stats('a')).toEqual({ proxyId: 'a', ...ZERO })
    call(pool, { ...SUCCESS, duration: 10 })
    call(pool, { ...FAILURE, duration: 20 })
    call(pool, { ...NOTHING, duration: 30 })
    call(pool, { ...thrown(withStatus(404)), duration: 40 })
    expect(pool.stats('a')).toEqual({
      proxyId: 'a',
      totalAttempts: 4,
      successCount: 1,
      failureCount: 1,
      avgLatency: 25,
      circuitBreakerOpens: 0,
    })
    call(pool, FAILURE)
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
  })

  it('take the result of an attempt once', () => {
    const { pool } = made()
    const pick = taken(pool)
    expect(pool.recordOutcome(pick, SUCCESS, [pick])).toBe(false)
    expect(pool.recordOutcome(pick, FAILURE, [pick])).toBe(false)
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, successCount: 1, failureCount: 0 })
  })

  it('are shown by pick, which takes a turn and starts nothing', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect([pool.pick()?.id, pool.pick()?.id, pool.pick()?.id, pool.pick()?.id]).toEqual(['a', 'b', 'c', 'a'])
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.stats('a').totalAttempts).toBe(0)
  })

  it('are used by pick as far as least_used is concerned', () => {
    const { pool } = made({ strategy: 'least_used' })
    expect([pool.pick()?.id, pool.pick()?.id, call(pool), pool.pick()?.id]).toEqual(['a', 'b', 'c', 'a'])
  })

  it('are picked by the context', () => {
    const { pool } = made({
      strategy: 'region',
      members: [...called('a'), { id: 'b', value: '', region: 'x' }],
    })
    expect(pool.pick({ region: 'x' })?.id).toBe('b')
  })
})

describe('a listener of a pool', () => {
  it('is told of every change of a member', async () => {
    const { pool, clock } = made()
    const events: PoolEvent[] = []
    const off = pool.on((event) => events.push(event))
    await clock.advance(5)
    pool.add({ id: 'd', value: '' })
    pool.drain('a')
    pool.drain('a')
    pool.enable('a')
    pool.enable('a')
    pool.remove('b')
    const timestamp = clock.wall()
    expect(events).toEqual([
      { type: 'member_changed', change: 'added', memberId: 'd', timestamp },
      { type: 'member_changed', change: 'drained', memberId: 'a', timestamp },
      { type: 'member_changed', change: 'enabled', memberId: 'a', timestamp },
      { type: 'member_changed', change: 'removed', memberId: 'b', timestamp },
    ])
    off()
    pool.remove('c')
    expect(events).toHaveLength(4)
  })

  it('is told of every change of a breaker', async () => {
    const { pool, clock } = made({
      breaker: { failureThreshold: 2, timeoutDuration: 50 },
      members: called('a/1'),
    })
    const events: PoolEvent[] = []
    pool.on((event) => events.push(event))
    call(pool, FAILURE)
    call(pool, FAILURE)
    await clock.advance(50)
    call(pool)
    const common = { type: 'breaker_changed', memberId: 'a/1', id: 'pool:p:a%2F1' }
    const opened = clock.wall() - 50
    expect(events).toEqual([
      { ...common, fromState: 'closed', toState: 'open', timestamp: opened, failureCount: 2 },
      { ...common, fromState: 'open', toState: 'half_open', timestamp: clock.wall(), failureCount: 2 },
      { ...common, fromState: 'half_open', toState: 'closed', timestamp: clock.wall(), failureCount: 0 },
    ])
  })

  it('may remove the member whose test it hears of: the call goes to another', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 50 } })
    pool.breaker('a').trip()
    await clock.advance(50)
    pool.on((event) => {
      if (event.type === 'breaker_changed' && event.toState === 'half_open') pool.remove(event.memberId)
    })
    expect(call(pool)).toBe('b')
    expect(pool.size).toBe(2)
  })

  it('may put another in the place of the one that a result sets aside: that one begins with nothing', () => {
    const { pool } = made({ breaker: { failureThreshold: 1 } })
    pool.on((event) => {
      if (event.type !== 'breaker_changed') return
      pool.remove(event.memberId)
      pool.add({ id: 'new', value: '' })
    })
    expect(call(pool, FAILURE)).toBe('a')
    expect(pool.stats('new')).toEqual({ proxyId: 'new', ...ZERO })
    expect(pool.status('new')).toBe('available')
  })

  it('may trip the breaker whose test it hears of: the call goes to another', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 50 } })
    pool.breaker('a').trip()
    await clock.advance(50)
    const off = pool.on((event) => {
      if (event.type === 'breaker_changed' && event.toState === 'half_open') pool.breaker('a').trip()
    })
    expect(call(pool)).toBe('b')
    off()
    expect(pool.status('a')).toBe('open')
  })
})
