import { describe, expect, it } from 'vitest'
import type { PoolEvent } from '../../src/index.js'
import {
  answered,
  call,
  calls,
  createPool,
  FAILURE,
  membersNamed,
  SUCCESS,
  selectMember,
  thrown,
  withCode,
  withStatus,
} from './setup.js'

const limited = (seconds?: number) =>
  thrown(withStatus(429, seconds === undefined ? {} : { 'retry-after': `${seconds}` }))

describe('a pool member that answers 429', () => {
  it('has a cooldown of the requested time', async () => {
    const { pool, clock } = createPool()
    call(pool, limited(5))
    expect(pool.status('a')).toBe('resting')
    await clock.advance(4999)
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    await clock.advance(1)
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })

  it('has a cooldown of timeoutDuration without a requested time', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 70 } })
    call(pool, limited())
    await clock.advance(69)
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    await clock.advance(1)
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })

  it('has a cooldown of its own timeoutDuration if it has one', async () => {
    const { pool } = createPool({ members: [{ id: 'a', value: '', breaker: { timeoutDuration: 7 } }] })
    call(pool, limited())
    expect(pool.createUnavailableError().retryAfter).toBe(7)
  })

  it('has no cooldown when it requests 0', () => {
    const { pool } = createPool({ members: membersNamed('a') })
    const events: PoolEvent[] = []
    pool.on((event) => events.push(event))
    call(pool, limited(0))
    expect(call(pool)).toBe('a')
    expect(events).toEqual([])
  })

  it('keeps its breaker, failure count and score', () => {
    const { pool } = createPool({
      members: membersNamed('a'),
      strategy: 'score',
      breaker: { failureThreshold: 1 },
    })
    call(pool, limited(0))
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'closed', failureCount: 0 })
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 0, successCount: 0, score: 0.5 })
  })

  it('does not count as failed even if failureOn matches', () => {
    const { pool } = createPool({
      members: membersNamed('a'),
      breaker: { failureThreshold: 1, failureOn: ['rate_limited'] },
    })
    call(pool, limited(0))
    expect(pool.breaker('a').state).toBe('closed')
  })

  it.each([
    ['a response', answered(429, { 'retry-after': '2' })],
    ['a response that the engine has not looked at', { ...answered(429), classification: undefined }],
    [
      'another kind of limit',
      thrown(Object.assign(new Error(), { name: 'ThrottlingException', retryAfter: 2000 })),
    ],
  ])('has a cooldown after %s', (_, outcome) => {
    const { pool } = createPool()
    call(pool, outcome)
    expect(pool.status('a')).toBe('resting')
    expect(pool.stats('a')).toMatchObject({ successCount: 0, failureCount: 0 })
  })

  it('has a cooldown until the later of two requested times', async () => {
    const { pool, clock } = createPool({ members: membersNamed('a') })
    const [first, second, third] = [selectMember(pool), selectMember(pool), selectMember(pool)]
    pool.recordOutcome(first, limited(5), [first])
    pool.recordOutcome(second, limited(2), [second])
    expect(pool.createUnavailableError().retryAfter).toBe(5000)
    pool.recordOutcome(third, limited(9), [third])
    await clock.advance(5000)
    expect(pool.createUnavailableError().retryAfter).toBe(4000)
  })

  it('is reported to listeners with the duration of the cooldown', async () => {
    const { pool, clock } = createPool()
    const events: PoolEvent[] = []
    pool.on((event) => events.push(event))
    call(pool, limited(5))
    const timestamp = clock.wall()
    expect(events).toEqual([
      { type: 'member_changed', change: 'rested', memberId: 'a', timestamp, retryAfter: 5000 },
    ])
  })

  it('is available again when it is enabled', () => {
    const { pool } = createPool({ members: membersNamed('a') })
    const events: PoolEvent[] = []
    call(pool, limited(5))
    pool.on((event) => events.push(event))
    pool.enable('a')
    expect(events).toMatchObject([{ change: 'enabled' }])
    expect(call(pool)).toBe('a')
  })

  it('does not pass its cooldown on to the next member of the slot', () => {
    const { pool } = createPool({ members: membersNamed('a') })
    call(pool, limited(5))
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    expect(call(pool)).toBe('b')
  })

  it('releases the probe permit, and is probed again after the cooldown', async () => {
    const { pool, clock } = createPool({ members: membersNamed('a'), breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, limited(5))
    expect(pool.breaker('a').state).toBe('half_open')
    expect(pool.status('a')).toBe('resting')
    await clock.advance(5000)
    call(pool)
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('stays unavailable when its breaker is open for longer than the cooldown', async () => {
    const { pool, clock } = createPool({
      members: membersNamed('a'),
      breaker: { timeoutDuration: 10_000, failureThreshold: 1 },
    })
    const [first, second] = [selectMember(pool), selectMember(pool)]
    pool.recordOutcome(first, limited(5), [first])
    pool.recordOutcome(second, FAILURE, [second])
    expect(pool.status('a')).toBe('resting')
    await clock.advance(5000)
    expect(pool.status('a')).toBe('open')
    expect(pool.createUnavailableError().retryAfter).toBe(5000)
  })

  it('does not cause a failover unless memberFaults includes 429', () => {
    const { pool } = createPool()
    const selection = selectMember(pool)
    expect(pool.recordOutcome(selection, limited(), [selection])).toBe(false)
    const told = createPool({ memberFaults: [429] }).pool
    const other = selectMember(told)
    expect(told.recordOutcome(other, limited(), [other])).toBe(true)
    expect(told.status('a')).toBe('resting')
  })

  it('does not confirm the faults of members that were tried before', () => {
    const { pool } = createPool({ memberFaults: [403, 429] })
    const first = selectMember(pool)
    const second = selectMember(pool, undefined, [first])
    pool.recordOutcome(first, thrown(withStatus(403)), [first, second])
    pool.recordOutcome(second, limited(), [first, second])
    expect(pool.stats('a').failureCount).toBe(0)
  })

  it('does not start a cooldown after other errors', () => {
    const { pool } = createPool()
    call(pool, thrown(withStatus(503, { 'retry-after': '9' })))
    call(pool, thrown(withCode('ECONNRESET')))
    call(pool, SUCCESS)
    expect(['a', 'b', 'c'].map((id) => pool.status(id))).toEqual(['available', 'available', 'available'])
  })
})
