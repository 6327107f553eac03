import { describe, expect, it } from 'vitest'
import { Pool, type PoolEvent } from '../../src/index.js'
import {
  ABORTED,
  call,
  calls,
  createPool,
  FAILURE,
  membersNamed,
  SUCCESS,
  selectMember,
  thrown,
  withStatus,
} from './setup.js'

const ZERO = {
  totalAttempts: 0,
  successCount: 0,
  failureCount: 0,
  avgLatency: 0,
  circuitBreakerOpens: 0,
}

describe('the members of a pool', () => {
  it('are the given objects in the given order', () => {
    const members = membersNamed('a', 'b')
    const { pool } = createPool({ members })
    expect(pool.members()).toEqual(members)
    expect(pool.members()[0]).toBe(members[0])
    expect(pool.size).toBe(2)
    expect(selectMember(pool).member).toBe(members[0])
  })

  it('can be empty at first', () => {
    const { pool } = createPool({ members: [] })
    expect(pool.pick()).toBeUndefined()
    pool.add({ id: 'a', value: 'x' })
    expect(pool.pick()?.value).toBe('x')
  })

  it('are optional', () => {
    const { clock } = createPool()
    expect(new Pool({ id: 'p', clock }).size).toBe(0)
  })

  it('count as untried for a call that tried the previous member of their slot', () => {
    const { pool } = createPool({ members: membersNamed('a'), memberFaults: [403] })
    const selection = selectMember(pool)
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    expect(pool.recordOutcome(selection, thrown(withStatus(403)), [selection])).toBe(true)
  })

  it('are not selected after they were removed', () => {
    const { pool } = createPool()
    pool.remove('b')
    expect(calls(pool, 3)).toEqual(['a', 'c', 'a'])
    expect(pool.size).toBe(2)
  })

  it('are not selected while they are drained, and record attempts in flight', () => {
    const { pool } = createPool()
    const selection = selectMember(pool)
    pool.drain('a')
    expect(pool.status('a')).toBe('drained')
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    pool.recordOutcome(selection, FAILURE, [selection])
    expect(pool.stats('a').failureCount).toBe(1)
    expect(pool.breaker('a').failureCount).toBe(1)
    pool.enable('a')
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 3)).toEqual(['c', 'a', 'b'])
  })

  it('can be removed while they are drained', () => {
    const { pool } = createPool()
    pool.drain('a')
    pool.remove('a')
    pool.add({ id: 'a', value: '' })
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 3)).toEqual(['a', 'b', 'c'])
  })

  it('do not receive the outcomes of the previous member of their slot', () => {
    const { pool } = createPool({ breaker: { failureThreshold: 1 } })
    const late = selectMember(pool)
    pool.remove('a')
    pool.add({ id: 'a', value: 'new' })
    pool.recordOutcome(late, FAILURE, [late])
    expect(pool.stats('a')).toEqual({ proxyId: 'a', ...ZERO })
    expect(pool.breaker('a').state).toBe('closed')
    // The new member counts as untried although the old one in its slot was tried.
    pool.drain('b')
    pool.drain('c')
    expect(selectMember(pool, undefined, [late]).member.value).toBe('new')
  })

  it('start without statistics when they are added again', () => {
    const { pool } = createPool({ breaker: { failureThreshold: 2 } })
    call(pool, FAILURE)
    pool.breaker('b').trip()
    for (const id of ['a', 'b']) pool.remove(id)
    for (const id of ['b', 'a']) pool.add({ id, value: '' })
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'closed', failureCount: 0 })
    expect(pool.breaker('a').snapshot().lastFailureTime).toBeUndefined()
    expect(pool.breaker('b').state).toBe('closed')
    for (const id of ['a', 'b']) expect(pool.stats(id)).toEqual({ proxyId: id, ...ZERO })
  })

  it('emit no events after they were removed', () => {
    const { pool } = createPool()
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

  it('have separate statistics', async () => {
    const { pool } = createPool({ members: membersNamed('a'), breaker: { failureThreshold: 2 } })
    expect(pool.stats('a')).toEqual({ proxyId: 'a', ...ZERO })
    call(pool, { ...SUCCESS, duration: 10 })
    call(pool, { ...FAILURE, duration: 20 })
    call(pool, { ...ABORTED, duration: 30 })
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

  it('record the outcome of an attempt only once', () => {
    const { pool } = createPool()
    const selection = selectMember(pool)
    expect(pool.recordOutcome(selection, SUCCESS, [selection])).toBe(false)
    expect(pool.recordOutcome(selection, FAILURE, [selection])).toBe(false)
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, successCount: 1, failureCount: 0 })
  })

  it('are returned by pick, which takes a turn but starts no attempt', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect([pool.pick()?.id, pool.pick()?.id, pool.pick()?.id, pool.pick()?.id]).toEqual(['a', 'b', 'c', 'a'])
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.stats('a').totalAttempts).toBe(0)
  })

  it('count as used by pick for least_used', () => {
    const { pool } = createPool({ strategy: 'least_used' })
    expect([pool.pick()?.id, pool.pick()?.id, call(pool), pool.pick()?.id]).toEqual(['a', 'b', 'c', 'a'])
  })

  it('are selected by the context given to pick', () => {
    const { pool } = createPool({
      strategy: 'region',
      members: [...membersNamed('a'), { id: 'b', value: '', region: 'x' }],
    })
    expect(pool.pick({ region: 'x' })?.id).toBe('b')
  })
})

describe('a listener of a pool', () => {
  it('receives every change of a member', async () => {
    const { pool, clock } = createPool()
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

  it('receives every state change of a breaker', async () => {
    const { pool, clock } = createPool({
      breaker: { failureThreshold: 2, timeoutDuration: 50 },
      members: membersNamed('a/1'),
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

  it('can remove the member whose probe starts, and the call uses another', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 50 } })
    pool.breaker('a').trip()
    await clock.advance(50)
    pool.on((event) => {
      if (event.type === 'breaker_changed' && event.toState === 'half_open') pool.remove(event.memberId)
    })
    expect(call(pool)).toBe('b')
    expect(pool.size).toBe(2)
  })

  it('can replace a member that an outcome ejects, and the new one starts without statistics', () => {
    const { pool } = createPool({ breaker: { failureThreshold: 1 } })
    pool.on((event) => {
      if (event.type !== 'breaker_changed') return
      pool.remove(event.memberId)
      pool.add({ id: 'new', value: '' })
    })
    expect(call(pool, FAILURE)).toBe('a')
    expect(pool.stats('new')).toEqual({ proxyId: 'new', ...ZERO })
    expect(pool.status('new')).toBe('available')
  })

  it('can trip the breaker whose probe starts, and the call uses another member', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 50 } })
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
