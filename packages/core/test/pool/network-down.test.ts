import { describe, expect, it } from 'vitest'
import { classify, type Pool, type PoolEvent } from '../../src/index.js'
import type { SelectionOutcome } from '../../src/pool/members/member-pool.js'
import {
  ABORTED,
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
  withStatus,
} from './setup.js'

const DOWN = thrown(withCode('ENETUNREACH'))

const failures = (pool: Pool<string>) => pool.members().map(({ id }) => pool.stats(id).failureCount)
const isDown = (pool: Pool<string>) => pool.createUnavailableError().code === 'NETWORK_DOWN'

/** A pool of five members. */
const five = (options: Parameters<typeof createPool>[0] = {}) =>
  createPool({ members: membersNamed('a', 'b', 'c', 'd', 'e'), ...options })

describe('the rollback of local faults', () => {
  it('does not change members without local faults', () => {
    const { pool } = five({ breaker: { failureThreshold: 1 } })
    const [first, second] = [selectMember(pool, undefined, []), selectMember(pool, undefined, [])]
    pool.drain('c')
    pool.drain('d')
    pool.drain('e')
    pool.recordOutcome(first, DOWN, [first])
    expect(pool.breaker('a').state).toBe('open')
    const third = selectMember(pool)
    pool.recordOutcome(third, ABORTED, [third])
    pool.recordOutcome(second, DOWN, [second])
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
    expect(pool.breaker('a').state).toBe('closed')
    expect(pool.breaker('a').snapshot().lastFailureTime).toBeUndefined()
  })

  it('does not include an abort on the same member', () => {
    const { pool } = createPool({ members: membersNamed('a', 'b'), breaker: { failureThreshold: 1 } })
    pool.drain('b')
    const [first, second] = [selectMember(pool), selectMember(pool)]
    pool.recordOutcome(first, DOWN, [first])
    pool.recordOutcome(second, ABORTED, [second])
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').state).toBe('closed')
  })

  it.each([
    [1, 'closed'],
    [2, 'open'],
  ])('keeps %d other failures, and the breaker is %s', (others, state) => {
    const { pool } = createPool({ members: membersNamed('a', 'b'), breaker: { failureThreshold: 2 } })
    pool.drain('b')
    const selections = Array.from({ length: 1 + others }, () => selectMember(pool))
    for (const [i, selection] of selections.entries())
      pool.recordOutcome(selection, i === 0 ? DOWN : FAILURE, [selection])
    expect(pool.breaker('a').state).toBe('open')
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').state).toBe(state)
    if (others === 1) expect(pool.breaker('a').failureCount).toBe(1)
    expect(pool.stats('a')).toMatchObject({ failureCount: others, circuitBreakerOpens: others - 1 })
  })

  it('does nothing when local faults do not count as failures', () => {
    const { pool } = five({ breaker: { failureThreshold: 1, failureOn: ['ETIMEDOUT'] } })
    attempts(pool, 2, undefined, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
  })

  it('does not happen when only some members had a fault, and no event is emitted', () => {
    const { pool } = five()
    const events: PoolEvent[] = []
    pool.on((event) => events.push(event))
    call(pool, DOWN)
    calls(pool, 2)
    expect(failures(pool)).toEqual([1, 0, 0, 0, 0])
    expect(events).toEqual([])
  })
})

describe('faults of the local network', () => {
  it.each(['ENETDOWN', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND'])(
    '%s at most members used: it is down',
    (code) => {
      const { pool } = five()
      const outcome = thrown(withCode(code))
      call(pool, outcome)
      expect(isDown(pool)).toBe(false)
      call(pool, outcome)
      expect(pool.select(undefined, [], undefined)).toBeUndefined()
      expect(pool.pick()).toBeUndefined()
      const error = pool.createUnavailableError()
      expect(error).toMatchObject({ code: 'NETWORK_DOWN', status: 503, retryAfter: 1000 })
      expect(error.message).toContain('the pool p')
    },
  )

  it.each([
    ['behind another error', new Error('fetch failed', { cause: withCode('ENOTFOUND') })],
    [
      'at every address',
      Object.assign(new AggregateError([withCode('ENETUNREACH'), withCode('ENETUNREACH')]), {
        code: 'ENETUNREACH',
      }),
    ],
    [
      'behind an unrelated code',
      Object.assign(new Error('x', { cause: withCode('ENOTFOUND') }), { code: 'GATEWAY' }),
    ],
  ])('are recognized %s', (_, error) => {
    const { pool } = five()
    attempts(pool, 2, undefined, thrown(error))
    expect(isDown(pool)).toBe(true)
  })

  it.each<[string, SelectionOutcome]>([
    ['a refusal', thrown(withCode('ECONNREFUSED'))],
    ['a reset', thrown(withCode('ECONNRESET'))],
    ['a timeout', thrown(withCode('ETIMEDOUT'))],
    [
      'a refusal at one address',
      thrown(new AggregateError([withCode('ENETUNREACH'), withCode('ECONNREFUSED')])),
    ],
    [
      'a timeout at one address',
      thrown(new AggregateError([withCode('ETIMEDOUT'), withCode('ENETUNREACH')])),
    ],
    ['an answer', thrown(withStatus(503))],
    ['a code in a returned value', { ...SUCCESS, result: withCode('ENETDOWN') }],
    [
      'an error of the network without a code',
      thrown(Object.assign(new Error('x'), { name: 'NetworkError' })),
    ],
    ['a local code with another classification', { ...DOWN, classification: classify(new Error('x')) }],
    ['anything else', FAILURE],
  ])('are not recognized in %s', (_, outcome) => {
    const { pool } = five({ breaker: { failureThreshold: 99 } })
    for (let i = 0; i < 10; i++) call(pool, outcome)
    expect(isDown(pool)).toBe(false)
  })

  it('need more than half of the used members', () => {
    const { pool } = five()
    // Two members are used and fail for another reason.
    for (let i = 0; i < 2; i++) call(pool, FAILURE)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
  })

  it('need more than one member', () => {
    const { pool } = createPool({ members: membersNamed('a'), breaker: { failureThreshold: 3 } })
    for (let i = 0; i < 3; i++) call(pool, DOWN)
    expect(pool.createUnavailableError().code).toBe('POOL_UNAVAILABLE')
    expect(pool.breaker('a').failureCount).toBe(3)
  })

  it('count against the member while others respond', () => {
    const { pool } = five({ breaker: { failureThreshold: 2 } })
    for (let round = 0; round < 2; round++) {
      // Three of five names are not found; the other two answer.
      for (let i = 0; i < 5; i++)
        call(pool, i === 0 || i === 2 || i === 4 ? thrown(withCode('ENOTFOUND')) : SUCCESS)
    }
    expect(isDown(pool)).toBe(false)
    expect(failures(pool)).toEqual([2, 0, 2, 0, 2])
    expect(pool.breaker('a').state).toBe('open')
  })

  it('are rolled back from breakers and counters when the network is down', async () => {
    const { pool } = five({ breaker: { failureThreshold: 3 } })
    call(pool, FAILURE)
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool, DOWN)
    expect(pool.breaker('a').failureCount).toBe(2)
    for (const id of ['b', 'c', 'd', 'e']) pool.enable(id)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([1, 0, 0, 0, 0])
    expect(pool.breaker('a').failureCount).toBe(1)
    expect(pool.breaker('b').failureCount).toBe(0)
    expect(pool.stats('a').totalAttempts).toBe(2)
  })

  it('are rolled back from members without a breaker, including the time of the last failure', async () => {
    const { pool, clock } = five()
    call(pool, FAILURE)
    const failed = clock.wall()
    await clock.advance(70_000)
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool, DOWN)
    for (const id of ['b', 'c', 'd', 'e']) pool.enable(id)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').snapshot()).toMatchObject({ failureCount: 0, lastFailureTime: failed })
    expect(pool.breaker('b').snapshot().lastFailureTime).toBeUndefined()
  })

  it('are rolled back from breakers that they opened', () => {
    const { pool } = five({ breaker: { failureThreshold: 2, timeoutMultiplier: 2 } })
    const events: PoolEvent[] = []
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    const breaker = pool.breaker('a')
    expect(breaker.state).toBe('open')
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
    pool.on((event) => events.push(event))
    pool.enable('b')
    call(pool, DOWN)
    expect(breaker.snapshot()).toMatchObject({
      state: 'closed',
      failureCount: 0,
      openedInARow: 0,
      openDuration: 0,
    })
    expect(breaker.snapshot().lastFailureTime).toBeUndefined()
    expect(breaker.snapshot().closedAt).toBeUndefined()
    expect(pool.stats('a')).toMatchObject({ circuitBreakerOpens: 0, failureCount: 0 })
    expect(pool.status('a')).toBe('available')
    expect(events).toMatchObject([
      { type: 'member_changed', change: 'enabled', memberId: 'b' },
      { type: 'breaker_changed', memberId: 'a', fromState: 'open', toState: 'closed' },
      { type: 'network_changed', down: true },
    ])
  })

  it('are rolled back without other failures in between', async () => {
    const { pool, clock } = five({ breaker: { failureThreshold: 3 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool, DOWN)
    await clock.advance(1)
    call(pool, thrown(withCode('ETIMEDOUT')))
    await clock.advance(1)
    call(pool, DOWN)
    expect(pool.breaker('a').state).toBe('open')
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'closed', failureCount: 1 })
    expect(failures(pool)).toEqual([1, 0, 0, 0, 0])
  })

  it('leave a breaker open that other failures have opened', () => {
    const { pool } = five({ breaker: { failureThreshold: 2 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    const selections = [selectMember(pool), selectMember(pool), selectMember(pool)] as const
    pool.recordOutcome(selections[0], DOWN, [])
    pool.recordOutcome(selections[1], thrown(withCode('ETIMEDOUT')), [])
    expect(pool.breaker('a').state).toBe('open')
    pool.recordOutcome(selections[2], thrown(withCode('ETIMEDOUT')), [])
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    // A local fault and a timeout opened the breaker; the two timeouts alone would have opened it too.
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'open' })
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
  })

  it('are rolled back alone: failures before, between and after stay in the window', async () => {
    const { pool, clock } = five({ breaker: { failureThreshold: 9 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    const timeout = thrown(withCode('ETIMEDOUT'))
    for (const outcome of [FAILURE, DOWN, timeout, DOWN, DOWN, timeout]) {
      await clock.advance(10)
      call(pool, outcome)
    }
    const start = clock.wall() - 60
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    const times = [10, 30, 60].flatMap((ms) => [start + ms, 1, 1, 0])
    expect(pool.breaker('a').snapshot().failureWindow).toEqual(times)
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 6, failureCount: 3 })
  })

  it('are rolled back from a breaker that was created on request', () => {
    const { pool } = five({ breaker: { failureThreshold: 2 } })
    expect(pool.breaker('a').failureCount).toBe(0)
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    pool.enable('b')
    call(pool, DOWN)
    expect(pool.breaker('a').snapshot()).toMatchObject({
      state: 'closed',
      failureCount: 0,
      failureWindow: [],
    })
  })

  it('are rolled back from a breaker that has been open before, including its consecutive openings', async () => {
    const { pool, clock } = five({
      breaker: { failureThreshold: 2, timeoutDuration: 100, timeoutMultiplier: 2 },
    })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool)
    call(pool, FAILURE)
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    await clock.advance(10)
    call(pool, FAILURE)
    await clock.advance(10)
    const before = pool.breaker('a').snapshot()
    expect(before).toMatchObject({ state: 'closed', failureCount: 1, openedInARow: 1 })
    call(pool, DOWN)
    expect(pool.breaker('a').state).toBe('open')
    pool.enable('b')
    call(pool, DOWN)
    const { epoch, lastStateChange, ...after } = pool.breaker('a').snapshot()
    expect(after).toEqual({ ...before, epoch: undefined, lastStateChange: undefined })
    expect([epoch, lastStateChange]).toEqual([before.epoch + 2, clock.wall()])
  })

  it('do not affect the next member of the slot', () => {
    const { pool } = five({ strategy: 'score', breaker: { failureThreshold: 9 } })
    call(pool, DOWN)
    pool.remove('a')
    pool.add({ id: 'f', value: '' })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool, thrown(withCode('ETIMEDOUT')))
    for (const id of ['b', 'c', 'd', 'e']) pool.enable(id)
    call(pool, DOWN)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.stats('f').failureCount).toBe(1)
    expect(pool.breaker('f').failureCount).toBe(1)
    const other = five({ strategy: 'score' }).pool
    call(other, DOWN)
    other.remove('a')
    other.add({ id: 'f', value: '' })
    for (const id of ['f', 'c', 'd', 'e']) other.drain(id)
    call(other)
    expect(other.stats('f').score).toBe(0.5)
  })

  it('are rolled back only as far as the window when they are further apart', async () => {
    const { pool, clock } = five({ breaker: { windowDuration: 8000 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool, DOWN)
    const first = clock.wall()
    await clock.advance(8001)
    call(pool, DOWN)
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.stats('a').failureCount).toBe(1)
    expect(pool.breaker('a').snapshot()).toMatchObject({ failureCount: 0, lastFailureTime: first })
  })

  it('are rolled back when they are exactly as old as the window', async () => {
    const { pool, clock } = five({ breaker: { windowDuration: 8000 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool, DOWN)
    await clock.advance(4000)
    call(pool, DOWN)
    await clock.advance(4000)
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.stats('a').failureCount).toBe(0)
  })

  it('leave a breaker open that was tripped manually', () => {
    const { pool } = five()
    call(pool, DOWN)
    pool.breaker('a').trip()
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
  })

  it('are rolled back when they ended a probe, and the next probe is admitted at once', async () => {
    const { pool, clock } = five({ breaker: { timeoutDuration: 100, timeoutMultiplier: 2 } })
    pool.breaker('a').trip()
    await clock.advance(100)
    call(pool, DOWN)
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'open', openedInARow: 2, failureCount: 1 })
    call(pool, DOWN)
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'open', openedInARow: 1, failureCount: 0 })
    expect(pool.breaker('a').nextTestTime).toBe(clock.wall())
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
  })

  it('are rolled back from a failure rate', async () => {
    const { pool, clock } = five({ breaker: { failureRate: 0.9, minimumCalls: 4 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    call(pool)
    await clock.advance(1)
    call(pool, FAILURE)
    call(pool, DOWN)
    const { failureWindow } = pool.breaker('a').snapshot()
    expect(failureWindow.slice(1)).toEqual([3, 2, 0])
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').snapshot().failureWindow.slice(1)).toEqual([2, 1, 0])
    expect(pool.breaker('b').snapshot().failureWindow).toEqual([])
  })

  it('are not rolled back after a response', () => {
    const { pool } = five()
    call(pool, DOWN)
    call(pool)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([1, 0, 0, 0, 0])
  })

  it('do not change the score before a response', () => {
    const { pool } = five({ strategy: 'score' })
    call(pool, DOWN)
    expect(pool.stats('a').score).toBe(0.5)
    call(pool)
    expect(pool.stats('a').score).toBeLessThan(0.5)
    expect(pool.stats('b').score).toBe(1)
  })

  it('do not change the score when the network was down', () => {
    const { pool } = five({ strategy: 'score' })
    attempts(pool, 2, undefined, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.stats('a').score).toBe(0.5)
    expect(pool.stats('b').score).toBe(0.5)
  })

  it('are forgotten when their member is removed', () => {
    const { pool } = five()
    call(pool, DOWN)
    pool.remove('a')
    pool.add({ id: 'f', value: '' })
    call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    const gone = selectMember(pool)
    pool.remove(gone.member.id)
    pool.recordOutcome(gone, DOWN, [gone])
    expect(isDown(pool)).toBe(false)
    expect(pool.stats('f').failureCount).toBe(0)
  })

  it('do not count when they are older than the window', async () => {
    const { pool, clock } = five({ breaker: { windowDuration: 8000 } })
    call(pool, DOWN)
    await clock.advance(9001)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    expect(failures(pool)).toEqual([1, 1, 0, 0, 0])
    await clock.advance(7000)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([1, 0, 0, 0, 0])
  })

  it.each([
    [6000, false],
    [8001, true],
  ])('are compared with the members used within the window: %d ms ago', async (ms, expected) => {
    const { pool, clock } = five({ breaker: { windowDuration: 8000 } })
    await clock.advance(500)
    for (let i = 0; i < 5; i++) call(pool, FAILURE)
    await clock.advance(ms)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    expect(isDown(pool)).toBe(expected)
  })
})

describe('a local network that is down', () => {
  /** A pool whose network is down. */
  function down(options: Parameters<typeof createPool>[0] = {}) {
    const { pool, clock } = five(options)
    const events: PoolEvent[] = []
    attempts(pool, 2, undefined, DOWN)
    pool.on((event) => events.push(event))
    return { pool, clock, events }
  }

  it('admits one probe per second, whose outcome does not count against its member', async () => {
    const { pool, clock } = down({ breaker: { failureThreshold: 1 } })
    await clock.advance(999)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    await clock.advance(1)
    expect(pool.createUnavailableError()).toMatchObject({ code: 'NETWORK_DOWN', retryAfter: 0 })
    expect(call(pool, DOWN)).toBe('c')
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    expect(pool.createUnavailableError()).toMatchObject({ code: 'NETWORK_DOWN', retryAfter: 1000 })
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
    expect(pool.breaker('c').state).toBe('closed')
    await clock.advance(1000)
    expect(call(pool)).toBe('d')
    expect(isDown(pool)).toBe(false)
  })

  it.each<[string, SelectionOutcome, boolean]>([
    ['a success', SUCCESS, false],
    ['an answer', thrown(withStatus(500)), false],
    ['a refusal', thrown(withCode('ECONNREFUSED')), false],
    ['a reset', thrown(withCode('ECONNRESET')), false],
    ['a refusal behind another error', thrown(new Error('x', { cause: withCode('ECONNREFUSED') })), false],
    ['a timeout', thrown(withCode('ETIMEDOUT')), true],
    ['a host that cannot be reached', thrown(withCode('EHOSTUNREACH')), true],
    ['a cancelled call', thrown(new DOMException('off', 'AbortError')), true],
    ['an abort', ABORTED, true],
    ['an unknown error', FAILURE, true],
  ])('evaluates the outcome of a probe: %s', async (_, outcome, still) => {
    const { pool, clock } = down()
    await clock.advance(1000)
    call(pool, outcome)
    expect(isDown(pool)).toBe(still)
  })

  it('is probed one second after the detection, whatever outcomes arrive in between', async () => {
    const { pool, clock } = five()
    const late = selectMember(pool)
    attempts(pool, 2, undefined, DOWN)
    await clock.advance(600)
    pool.recordOutcome(late, DOWN, [late])
    expect(pool.createUnavailableError().retryAfter).toBe(400)
  })

  it('is up again after a response to an earlier call, even of a removed member', () => {
    const { pool } = five()
    const early = selectMember(pool)
    attempts(pool, 2, undefined, DOWN)
    expect(isDown(pool)).toBe(true)
    pool.remove('a')
    pool.recordOutcome(early, SUCCESS, [early])
    expect(isDown(pool)).toBe(false)
  })

  it('is up again when the window has passed without a fault', async () => {
    const { pool, clock, events } = down({ breaker: { windowDuration: 5000 } })
    await clock.advance(5000)
    expect(isDown(pool)).toBe(true)
    await clock.advance(1)
    expect(isDown(pool)).toBe(false)
    expect(calls(pool, 2)).toEqual(['c', 'd'])
    expect(events).toEqual([{ type: 'network_changed', down: false, timestamp: clock.wall() }])
  })

  it('stays down while there are faults', async () => {
    const { pool, clock } = down({ breaker: { windowDuration: 5000 } })
    for (let i = 0; i < 10; i++) {
      await clock.advance(1000)
      call(pool, DOWN)
    }
    expect(isDown(pool)).toBe(true)
  })

  it('counts failures against members again after it is up', async () => {
    const { pool, clock, events } = down()
    await clock.advance(1000)
    call(pool)
    expect(events).toEqual([{ type: 'network_changed', down: false, timestamp: clock.wall() }])
    call(pool, DOWN)
    expect(pool.stats('d').failureCount).toBe(1)
  })
})
