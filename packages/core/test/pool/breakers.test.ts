import { describe, expect, it } from 'vitest'
import { type BreakerOptions, CircuitBreaker } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import {
  ABORTED,
  answered,
  attempts,
  call,
  calls,
  createPool,
  FAILURE,
  membersNamed,
  SUCCESS,
  selectMember,
  thrown,
  withCode,
} from './setup.js'

/** A pool of one member. */
const alone = (breaker: BreakerOptions) => createPool({ members: membersNamed('a'), breaker })

describe('the breaker of a pool member', () => {
  it('has an id made of the encoded ids of the pool and the member', () => {
    const { pool } = createPool({ id: 'my pool', members: membersNamed('http://a:1') })
    expect(pool.breaker('http://a:1').id).toBe('pool:my%20pool:http%3A%2F%2Fa%3A1')
  })

  it('is the same CircuitBreaker at every call', () => {
    const { pool } = createPool()
    expect(pool.breaker('a')).toBe(pool.breaker('a'))
    expect(pool.breaker('a')).toBeInstanceOf(CircuitBreaker)
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('opens at the failure threshold and makes its member unavailable', () => {
    const { pool } = alone({ failureThreshold: 3 })
    for (let i = 0; i < 2; i++) call(pool, FAILURE)
    expect(pool.status('a')).toBe('available')
    call(pool, FAILURE)
    expect(pool.status('a')).toBe('open')
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })

  it('opens at the first failure with a threshold of 1', () => {
    const { pool } = alone({ failureThreshold: 1 })
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('open')
  })

  it('opens by default after five failures in sixty seconds', () => {
    const { pool } = createPool({ members: membersNamed('a') })
    for (let i = 0; i < 4; i++) call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('closed')
    call(pool, FAILURE)
    expect(pool.breaker('a').state).toBe('open')
  })

  it('contains an earlier failure when it is created on request', async () => {
    const { pool, clock } = createPool()
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

  it('does not contain a failure that has left the window when it is created on request', async () => {
    const { pool, clock } = alone({ windowDuration: 100 })
    call(pool, FAILURE)
    const { timestamp } = { timestamp: clock.wall() }
    await clock.advance(101)
    expect(pool.breaker('a').failureCount).toBe(0)
    expect(pool.breaker('a').snapshot().lastFailureTime).toBe(timestamp)
  })

  it('resets consecutive failures at a success, but not by time', async () => {
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

  it('opens by the failure rate and by the rate of slow calls', async () => {
    const { pool, clock } = alone({ slowCallDuration: 50, slowCallRate: 0.5, minimumCalls: 2 })
    for (let i = 0; i < 2; i++) {
      const selection = selectMember(pool)
      await clock.advance(50)
      pool.recordOutcome(selection, SUCCESS, [selection])
    }
    expect(pool.breaker('a').state).toBe('open')
  })

  it('can be adaptive', () => {
    const { pool } = alone({ adaptive: true, failureThreshold: 10, windowDuration: 1000 })
    calls(pool, 3)
    call(pool, FAILURE)
    expect(pool.breaker('a').snapshot().results).toBe('1110')
  })

  it('can have options of the member that override those of the pool', async () => {
    const { pool, clock } = createPool({
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

  it('does not pass its options on to the next member of the slot', () => {
    const { pool } = createPool({ members: [{ id: 'a', value: '', breaker: { failureThreshold: 1 } }] })
    pool.remove('a')
    pool.add({ id: 'b', value: '' })
    call(pool, FAILURE)
    expect(pool.breaker('b').state).toBe('closed')
  })

  it('counts a response that failureOn matches, but not a cancelled attempt', () => {
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

  it('emits one event for each state change and no other', () => {
    const { pool } = alone({})
    const events: unknown[] = []
    pool.on((event) => events.push(event))
    pool.breaker('a').trip()
    pool.breaker('a').trip()
    expect(events).toMatchObject([{ type: 'breaker_changed', memberId: 'a', toState: 'open' }])
  })

  it('admits no further probe until the lease of the first one ends', async () => {
    const { pool, clock } = alone({ halfOpenMax: 2, timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    pool.select(undefined, [], 70)
    pool.select(undefined, [], 30)
    expect(pool.status('a')).toBe('half_open')
    expect(pool.createUnavailableError().retryAfter).toBe(30)
  })

  it('counts the errors that failureOn matches', () => {
    const { pool } = alone({ failureThreshold: 1, failureOn: ['EPIPE'] })
    call(pool, thrown(withCode('ECONNRESET')))
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 0, successCount: 0 })
    call(pool, ABORTED)
    call(pool)
    expect(pool.breaker('a').state).toBe('closed')
    call(pool, thrown(withCode('EPIPE')))
    expect(pool.breaker('a').state).toBe('open')
  })

  it('does not count outcomes that are not related to the member', () => {
    const { pool } = alone({ failureThreshold: 1 })
    call(pool, ABORTED)
    expect(pool.breaker('a').failureCount).toBe(0)
  })

  it('uses the clock of the pool', () => {
    const clock = fakeClock({ wall: 5 })
    const { pool } = createPool({ clock })
    pool.breaker('a').trip()
    expect(pool.breaker('a').nextTestTime).toBe(30_005)
  })
})

describe('a pool member with an open breaker', () => {
  it('is not selected until the open duration has passed, and the next selection is the probe', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(99)
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    expect(pool.status('a')).toBe('open')
    await clock.advance(1)
    expect([pool.status('a'), pool.breaker('a').state]).toEqual(['open', 'open'])
    const test = selectMember(pool)
    expect(test.member.id).toBe('a')
    expect(pool.breaker('a').state).toBe('half_open')
    expect(pool.status('a')).toBe('half_open')
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
    pool.recordOutcome(test, SUCCESS, [test])
    expect(pool.breaker('a').state).toBe('closed')
    expect(calls(pool, 2)).toEqual(['c', 'a'])
  })

  it('becomes unavailable again when the probe fails', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, FAILURE)
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    await clock.advance(100)
    expect(call(pool)).toBe('a')
  })

  it('admits as many concurrent probes as halfOpenMax', async () => {
    const { pool, clock } = alone({ timeoutDuration: 100, halfOpenMax: 2, successThreshold: 3 })
    pool.breaker('a').trip()
    await clock.advance(100)
    const [first, second] = [selectMember(pool), selectMember(pool)]
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    pool.recordOutcome(first, SUCCESS, [first])
    const third = selectMember(pool)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    for (const selection of [second, third]) pool.recordOutcome(selection, SUCCESS, [selection])
    expect(pool.breaker('a').state).toBe('closed')
  })

  it.each([
    [undefined, 100],
    [30, 30],
  ])('is selectable again when the lease of a hanging probe ends (%s)', async (lease, ms) => {
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

  it('is selectable again when a probe ends without an outcome for the breaker', async () => {
    const { pool, clock } = alone({ timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, ABORTED)
    expect(pool.breaker('a').state).toBe('half_open')
    expect(call(pool)).toBe('a')
    expect(pool.breaker('a').state).toBe('closed')
  })

  it('ignores the outcomes of attempts that started before it opened', () => {
    const { pool } = alone({ failureThreshold: 2 })
    const late = selectMember(pool)
    const later = selectMember(pool)
    call(pool, FAILURE)
    call(pool, FAILURE)
    pool.recordOutcome(late, SUCCESS, [late])
    expect(pool.breaker('a').state).toBe('open')
    pool.breaker('a').reset()
    pool.recordOutcome(later, FAILURE, [later])
    expect(pool.breaker('a').failureCount).toBe(0)
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 4, successCount: 1, failureCount: 3 })
  })

  it('stays unavailable for longer when it is tripped again', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(60)
    pool.breaker('a').trip()
    await clock.advance(60)
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    await clock.advance(40)
    expect(call(pool)).toBe('a')
  })

  it('becomes unavailable at once when it is tripped after the open duration', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.pick()?.id).toBe('a')
    pool.breaker('a').trip()
    expect(pool.status('a')).toBe('open')
    expect(calls(pool, 3)).toEqual(['b', 'c', 'b'])
  })

  it('is available at once when its breaker is reset or disabled', () => {
    const { pool } = createPool()
    pool.breaker('a').trip()
    pool.breaker('b').trip()
    pool.breaker('a').reset()
    pool.breaker('b').disable()
    expect(calls(pool, 3)).toEqual(['a', 'b', 'c'])
  })

  it('is skipped while another call holds its probe permit', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100, probeLease: 20 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.breaker('a').admit()).toBeDefined()
    expect(calls(pool, 2)).toEqual(['b', 'c'])
    await clock.advance(20)
    expect(call(pool)).toBe('a')
  })

  it('becomes available in the order of the open durations among many members', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `m${i}`)
    const { pool, clock } = createPool({ members: membersNamed(...ids) })
    // The breakers open in a shuffled order, 100 ms apart.
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

describe('a pool without available members', () => {
  it('rejects calls at once and reports retryAfter', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 }, id: 'proxies' })
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

  it('reports the next available time when earlier entries are outdated', async () => {
    const { pool, clock } = createPool({ breaker: { timeoutDuration: 100 } })
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

  it('reports no retryAfter when waiting does not help', () => {
    const { pool } = createPool()
    for (const id of ['a', 'b', 'c']) pool.drain(id)
    const error = pool.createUnavailableError()
    expect(error.retryAfter).toBeUndefined()
    expect(error.message).toBe('none of the 3 members of the pool p is available')
    expect(createPool({ members: [] }).pool.createUnavailableError().code).toBe('POOL_UNAVAILABLE')
  })

  it('reports a retryAfter of 0 when a member has just become available', async () => {
    const { pool, clock } = alone({ timeoutDuration: 100 })
    pool.breaker('a').trip()
    await clock.advance(100)
    expect(pool.createUnavailableError().retryAfter).toBe(0)
    expect(call(pool)).toBe('a')
  })

  it('selects tried members again when no others are available', () => {
    const { pool } = createPool({ breaker: { failureThreshold: 2 } })
    pool.drain('c')
    expect(attempts(pool, 4)).toEqual(['a', 'b', 'a', 'b'])
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })
})
