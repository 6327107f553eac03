import { describe, expect, it } from 'vitest'
import type { PoolEvent } from '../../src/index.js'
import {
  answered,
  call,
  called,
  calls,
  FAILURE,
  made,
  SUCCESS,
  taken,
  thrown,
  withCode,
  withStatus,
} from './setup.js'

const limited = (seconds?: number) =>
  thrown(withStatus(429, seconds === undefined ? {} : { 'retry-after': `${seconds}` }))

describe('a member that answers 429', () => {
  it('rests as long as it asks for', async () => {
    const { pool, clock } = made()
    call(pool, limited(5))
    expect(pool.status('a')).toBe('resting')
    await clock.advance(4999)
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    await clock.advance(1)
    expect(pool.status('a')).toBe('available')
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })

  it('rests for timeoutDuration where it asks for nothing', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 70 } })
    call(pool, limited())
    await clock.advance(69)
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    await clock.advance(1)
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })

  it('rests for its own timeoutDuration where it has one', async () => {
    const { pool } = made({ members: [{ id: 'a', value: '', breaker: { timeoutDuration: 7 } }] })
    call(pool, limited())
    expect(pool.createUnavailableError().retryAfter).toBe(7)
  })

  it('does not rest where it asks for 0', () => {
    const { pool } = made({ members: called('a') })
    const events: PoolEvent[] = []
    pool.on((event) => events.push(event))
    call(pool, limited(0))
    expect(call(pool)).toBe('a')
    expect(events).toEqual([])
  })

  it('is not held to anything: its breaker, its failures and its score do not change', () => {
    const { pool } = made({ members: called('a'), strategy: 'score', breaker: { failureThreshold: 1 } })
    call(pool, limited(0))
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'closed', failureCount: 0 })
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 0, successCount: 0, score: 0.5 })
  })

  it('is not held to it where failureOn says so either', () => {
    const { pool } = made({
      members: called('a'),
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
  ])('may do so by %s', (_, outcome) => {
    const { pool } = made()
    call(pool, outcome)
    expect(pool.status('a')).toBe('resting')
    expect(pool.stats('a')).toMatchObject({ successCount: 0, failureCount: 0 })
  })

  it('rests until the later of two hints', async () => {
    const { pool, clock } = made({ members: called('a') })
    const [first, second, third] = [taken(pool), taken(pool), taken(pool)]
    pool.recordOutcome(first, limited(5), [first])
    pool.recordOutcome(second, limited(2), [second])
    expect(pool.createUnavailableError().retryAfter).toBe(5000)
    pool.recordOutcome(third, limited(9), [third])
    await clock.advance(5000)
    expect(pool.createUnavailableError().retryAfter).toBe(4000)
  })

  it('is told of with how long it rests', async () => {
    const { pool, clock } = made()
    const events: PoolEvent[] = []
    pool.on((event) => events.push(event))
    call(pool, limited(5))
    const timestamp = clock.wall()
    expect(events).toEqual([
      { type: 'member_changed', change: 'rested', memberId: 'a', timestamp, retryAfter: 5000 },
    ])
  })

  it('comes back when it is enabled', () => {
    const { pool } = made({ members: called('a') })
    const events: PoolEvent[] = []
    call(pool, limited(5))
    pool.on((event) => events.push(event))
    pool.enable('a')
    expect(events).toMatchObject([{ change: 'enabled' }])
    expect(call(pool)).toBe('a')
  })

  it('does not hand its rest to the next in its place', () => {
    const { pool } = made({ members: called('a') })
    call(pool, limited(5))
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    expect(call(pool)).toBe('b')
  })

  it('frees the place of a test, and is tested again after its rest', async () => {
    const { pool, clock } = made({ members: called('a'), breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, limited(5))
    expect(pool.breaker('a').state).toBe('half_open')
    expect(pool.status('a')).toBe('resting')
    await clock.advance(5000)
    call(pool)
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('stays out when its breaker is open for longer', async () => {
    const { pool, clock } = made({
      members: called('a'),
      breaker: { timeoutDuration: 10_000, failureThreshold: 1 },
    })
    const [first, second] = [taken(pool), taken(pool)]
    pool.recordOutcome(first, limited(5), [first])
    pool.recordOutcome(second, FAILURE, [second])
    expect(pool.status('a')).toBe('resting')
    await clock.advance(5000)
    expect(pool.status('a')).toBe('open')
    expect(pool.createUnavailableError().retryAfter).toBe(5000)
  })

  it('is not failed over from unless the pool is told so', () => {
    const { pool } = made()
    const pick = taken(pool)
    expect(pool.recordOutcome(pick, limited(), [pick])).toBe(false)
    const told = made({ memberFaults: [429] }).pool
    const other = taken(told)
    expect(told.recordOutcome(other, limited(), [other])).toBe(true)
    expect(told.status('a')).toBe('resting')
  })

  it('is not taken for the fault of those before it', () => {
    const { pool } = made({ memberFaults: [403, 429] })
    const first = taken(pool)
    const second = taken(pool, undefined, [first])
    pool.recordOutcome(first, thrown(withStatus(403)), [first, second])
    pool.recordOutcome(second, limited(), [first, second])
    expect(pool.stats('a').failureCount).toBe(0)
  })

  it('leaves other errors alone', () => {
    const { pool } = made()
    call(pool, thrown(withStatus(503, { 'retry-after': '9' })))
    call(pool, thrown(withCode('ECONNRESET')))
    call(pool, SUCCESS)
    expect(['a', 'b', 'c'].map((id) => pool.status(id))).toEqual(['available', 'available', 'available'])
  })
})
