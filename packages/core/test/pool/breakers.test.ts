import { describe, expect, it } from 'vitest'
import { type BreakerOptions, CircuitBreaker } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import {
  answered,
  attempts,
  call,
  called,
  calls,
  FAILURE,
  made,
  NOTHING,
  SUCCESS,
  taken,
  thrown,
  withCode,
} from './setup.js'

/** A pool of one. */
const alone = (breaker: BreakerOptions) => made({ members: called('a'), breaker })

describe("a member's breaker", () => {
  it('is called by the ids of the pool and of the member, encoded', () => {
    const { pool } = made({ id: 'my pool', members: called('http://a:1') })
    expect(pool.breaker('http://a:1').id).toBe('pool:my%20pool:http%3A%2F%2Fa%3A1')
  })

  it('is the same one every time, and a CircuitBreaker', () => {
    const { pool } = made()
    expect(pool.breaker('a')).toBe(pool.breaker('a'))
    expect(pool.breaker('a')).toBeInstanceOf(CircuitBreaker)
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('opens with the failures that its settings say, and its member is out', () => {
    const { pool } = alone({ failureThreshold: 3 })
    for (let i = 0; i < 2; i++) call(pool, FAILURE)
    expect(pool.status('a')).toBe('available')
    call(pool, FAILURE)
    expect(pool.status('a')).toBe('open')
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })

  it('opens with the first failure where the threshold is 1', () => {
    const { pool } = alone({ failureThreshold: 1 })
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('open')
  })

  it('has five failures in sixty seconds for a default', () => {
    const { pool } = made({ members: called('a') })
    for (let i = 0; i < 4; i++) call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('closed')
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('open')
  })

  it('knows of one failure when it is asked for', async () => {
    const { pool, clock } = made()
    await clock.advance(7)
    call(pool, FAILURE)
    const { failureCount, lastFailureTime, failureWindow } = pool.breaker('a').snapshot()
    expect({ failureCount, lastFailureTime, failureWindow }).toEqual({
      failureCount: 1,
      lastFailureTime: clock.wall(),
      failureWindow: [clock.wall(), 1, 1, 0],
    })
  })

  it.each([
    [100, 'open'],
    [101, 'closed'],
  ])('counts a failure from %d ms ago in a window of 100: %s', async (ms, state) => {
    const { pool, clock } = alone({ failureThreshold: 2, windowDuration: 100 })
    call(pool, FAILURE)
    await clock.advance(ms)
    call(pool)
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe(state)
  })

  it('forgets an only failure in time, when it is asked for', async () => {
    const { pool, clock } = alone({ windowDuration: 100 })
    call(pool, FAILURE)
    const { timestamp } = { timestamp: clock.wall() }
    await clock.advance(101)
    expect(pool.breaker('a').failureCount).toBe(0)
    expect(pool.breaker('a').snapshot().lastFailureTime).toBe(timestamp)
  })

  it('forgets consecutive failures with a success, and never by time', async () => {
    const { pool, clock } = alone({ failureThreshold: 2, windowType: 'consecutive', windowDuration: 100 })
    call(pool, FAILURE)
    call(pool)
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('closed')
    const other = alone({ failureThreshold: 2, windowType: 'consecutive', windowDuration: 100 })
    call(other.pool, FAILURE)
    await other.clock.advance(1e6)
    call(other.pool, FAILURE)
    expect(other.pool.breaker('a').state).toBe('open')
    await clock.advance(0)
  })

  it('judges rates, of slow calls too', async () => {
    const { pool, clock } = alone({ slowCallDuration: 50, slowCallRate: 0.5, minimumCalls: 2 })
    for (let i = 0; i < 2; i++) {
      const pick = taken(pool)
      await clock.advance(50)
      pool.recordOutcome(pick, SUCCESS, [pick])
    }
    expect(pool.breaker('a').state).toBe('open')
  })

  it('may be adaptive', () => {
    const { pool } = alone({ adaptive: true, failureThreshold: 10, windowDuration: 1000 })
    calls(pool, 3)
    call(pool, FAILURE)
    expect(pool.breaker('a').snapshot().results).toBe('1110')
  })

  it('may have settings of its own, over those of the pool', async () => {
    const { pool, clock } = made({
      members: [
        { id: 'touchy', value: '', breaker: { failureThreshold: 1 } },
        { id: 'rated', value: '', breaker: { failureRate: 1, minimumCalls: 1 } },
        { id: 'other', value: '' },
      ],
      breaker: { failureThreshold: 3, timeoutDuration: 77 },
    })
    for (let i = 0; i < 3; i++) call(pool, FAILURE)
    expect(['touchy', 'rated', 'other'].map((id) => pool.breaker(id).state)).toEqual([
      'open',
      'open',
      'closed',
    ])
    expect(pool.breaker('touchy').nextTestTime).toBe(clock.wall() + 77)
    await clock.advance(77)
    expect(call(pool)).toBe('touchy')
  })

  it('does not give its settings to the next member in its place', () => {
    const { pool } = made({ members: [{ id: 'a', value: '', breaker: { failureThreshold: 1 } }] })
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    call(pool, FAILURE)
    expect(pool.breaker('b').state).toBe('closed')
  })

  it('counts what failureOn says of an answer, but not what was cancelled', () => {
    const { pool } = alone({ failureThreshold: 1, failureOn: [() => true] })
    const cancelled = thrown(new DOMException('stop', 'AbortError'))
    expect(cancelled.classification?.kind).toBe('cancelled')
    call(pool, { ...cancelled, breakerOutcome: undefined })
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, successCount: 0, failureCount: 0 })
    call(pool, answered(404))
    expect(pool.breaker('a').state).toBe('open')
    const other = alone({ failureThreshold: 1, failureOn: ['EPIPE'] }).pool
    call(other, answered(503))
    expect(other.stats('a')).toMatchObject({ successCount: 1, failureCount: 0 })
  })

  it('tells of a change of state once, and of nothing else', () => {
    const { pool } = alone({})
    const events: unknown[] = []
    pool.on((event) => events.push(event))
    pool.breaker('a').trip()
    pool.breaker('a').trip()
    expect(events).toMatchObject([{ type: 'breaker_changed', memberId: 'a', toState: 'open' }])
  })

  it('is full until the first of its tests may end', async () => {
    const { pool, clock } = alone({ halfOpenMax: 2, timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    pool.select(undefined, [], 70)
    pool.select(undefined, [], 30)
    expect(pool.status('a')).toBe('half_open')
    expect(pool.createUnavailableError().retryAfter).toBe(30)
  })

  it('counts what failureOn says', () => {
    const { pool } = alone({ failureThreshold: 1, failureOn: ['EPIPE'] })
    call(pool, thrown(withCode('ECONNRESET')))
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 0, successCount: 0 })
    call(pool, NOTHING)
    call(pool)
    expect(pool.breaker('a').state).toBe('closed')
    call(pool, thrown(withCode('EPIPE')))
    expect(pool.breaker('a').state).toBe('open')
  })

  it('counts nothing that says nothing of the member', () => {
    const { pool } = alone({ failureThreshold: 1 })
    call(pool, NOTHING)
    expect(pool.breaker('a').failureCount).toBe(0)
  })

  it('takes its time from the clock of the pool', () => {
    const clock = fakeClock({ wall: 5 })
    const { pool } = made({ clock })
    pool.breaker('a').trip()
    expect(pool.breaker('a').nextTestTime).toBe(30_005)
  })
})

describe('an open member', () => {
  it('is no candidate until its time is up; its next use is then the test', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(99)
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    expect(pool.status('a')).toBe('open')
    await clock.advance(1)
    expect([pool.status('a'), pool.breaker('a').state]).toEqual(['open', 'open'])
    const test = taken(pool)
    expect(test.member.id).toBe('a')
    expect(pool.breaker('a').state).toBe('half_open')
    expect(pool.status('a')).toBe('half_open')
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    pool.recordOutcome(test, SUCCESS, [test])
    expect(pool.breaker('a').state).toBe('closed')
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })

  it('is out again when the test fails', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, FAILURE)
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    await clock.advance(100)
    expect(call(pool)).toBe('a')
  })

  it('is tested by as many calls at a time as halfOpenMax says', async () => {
    const { pool, clock } = alone({ timeoutDuration: 100, halfOpenMax: 2, successThreshold: 3 })
    pool.breaker('a').trip()
    await clock.advance(100)
    const [first, second] = [taken(pool), taken(pool)]
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    pool.recordOutcome(first, SUCCESS, [first])
    const third = taken(pool)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    for (const pick of [second, third]) pool.recordOutcome(pick, SUCCESS, [pick])
    expect(pool.breaker('a').state).toBe('closed')
  })

  it.each([
    [undefined, 100],
    [30, 30],
  ])('whose test hangs is a candidate again after its lease (%s)', async (lease, ms) => {
    const { pool, clock } = alone({ timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.select(undefined, [], lease)?.member.id).toBe('a')
    expect(pool.createUnavailableError().retryAfter).toBe(ms)
    await clock.advance(ms - 1)
    expect(pool.select(undefined, [], lease)).toBeUndefined()
    await clock.advance(1)
    expect(pool.select(undefined, [], lease)?.member.id).toBe('a')
  })

  it('is a candidate again as soon as a test says nothing of it', async () => {
    const { pool, clock } = alone({ timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, NOTHING)
    expect(pool.breaker('a').state).toBe('half_open')
    expect(call(pool)).toBe('a')
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('takes no notice of calls that began before it opened', () => {
    const { pool } = alone({ failureThreshold: 2 })
    const late = taken(pool)
    const later = taken(pool)
    call(pool, FAILURE)
    call(pool, FAILURE)
    pool.recordOutcome(late, SUCCESS, [late])
    expect(pool.breaker('a').state).toBe('open')
    pool.breaker('a').reset()
    pool.recordOutcome(later, FAILURE, [later])
    expect(pool.breaker('a').failureCount).toBe(0)
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 4, successCount: 1, failureCount: 3 })
  })

  it('stays out for longer when it is tripped again', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(60)
    pool.breaker('a').trip()
    await clock.advance(60)
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    await clock.advance(40)
    expect(call(pool)).toBe('a')
  })

  it('is out again at once when it is tripped after its time was up', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.pick()?.id).toBe('a')
    pool.breaker('a').trip()
    expect(pool.status('a')).toBe('open')
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
  })

  it('is back at once when it is reset or switched off', () => {
    const { pool } = made()
    pool.breaker('a').trip()
    pool.breaker('b').trip()
    pool.breaker('a').reset()
    pool.breaker('b').disable()
    expect(calls(pool, 3)).toEqual(['a', 'b', 'c'])
  })

  it('whose place for a test another took is passed over', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100, probeLease: 20 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.breaker('a').admit()).toBeDefined()
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    await clock.advance(20)
    expect(call(pool)).toBe('a')
  })

  it('comes back in its order among many', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `m${i}`)
    const { pool, clock } = made({ members: called(...ids) })
    // In a scrambled order, a tenth of a second apart.
    const order = ids.map((_, i) => ids[(i * 37) % 100] as string)
    for (const id of order) {
      pool.breaker(id).trip()
      await clock.advance(100)
    }
    expect(pool.createUnavailableError().retryAfter).toBe(20_000)
    await clock.advance(20_000)
    for (const id of order) {
      expect(call(pool)).toBe(id)
      pool.drain(id)
      expect(pool.pick()).toBeUndefined()
      await clock.advance(100)
    }
  })
})

describe('a pool where everybody is out', () => {
  it('refuses at once and says when to come back', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 }, id: 'proxies' })
    for (const id of ['b', 'a', 'c']) {
      pool.breaker(id).trip()
      await clock.advance(10)
    }
    expect(pool.pick()).toBeUndefined()
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    const error = pool.createUnavailableError()
    expect(error).toMatchObject({ code: 'POOL_UNAVAILABLE', status: 503, retryAfter: 70 })
    expect(error.message).toBe('none of the 3 members of the pool proxies is available; retry in 70 ms')
  })

  it('says when the next one is due though others were expected before', async () => {
    const { pool, clock } = made({ breaker: { timeoutDuration: 100 } })
    for (const id of ['a', 'b', 'c']) {
      pool.breaker(id).trip()
      await clock.advance(10)
    }
    pool.drain('a')
    pool.breaker('b').trip()
    expect(pool.createUnavailableError().retryAfter).toBe(90)
    pool.remove('c')
    expect(pool.createUnavailableError().retryAfter).toBe(100)
  })

  it('says nothing of a time where waiting does not help', () => {
    const { pool } = made()
    for (const id of ['a', 'b', 'c']) pool.drain(id)
    const error = pool.createUnavailableError()
    expect(error.retryAfter).toBeUndefined()
    expect(error.message).toBe('none of the 3 members of the pool p is available')
    expect(made({ members: [] }).pool.createUnavailableError().code).toBe('POOL_UNAVAILABLE')
  })

  it('says 0 where somebody has just come back', async () => {
    const { pool, clock } = alone({ timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.createUnavailableError().retryAfter).toBe(0)
    expect(call(pool)).toBe('a')
  })

  it('uses those again that were tried where no others are left', () => {
    const { pool } = made({ breaker: { failureThreshold: 2 } })
    pool.drain('c')
    expect(attempts(pool, 4)).toEqual(['a', 'b', 'a', 'b'])
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })
})
