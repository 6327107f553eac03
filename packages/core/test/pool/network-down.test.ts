import { describe, expect, it } from 'vitest'
import { classify, type Pool, type PoolEvent } from '../../src/index.js'
import type { SelectionOutcome } from '../../src/pool/members/member-pool.js'
import {
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
  withStatus,
} from './setup.js'

const DOWN = thrown(withCode('ENETUNREACH'))

const failures = (pool: Pool<string>) => pool.members().map(({ id }) => pool.stats(id).failureCount)
const isDown = (pool: Pool<string>) => pool.createUnavailableError().code === 'NETWORK_DOWN'

/** A pool of five. */
const five = (options: Parameters<typeof made>[0] = {}) =>
  made({ members: called('a', 'b', 'c', 'd', 'e'), ...options })

describe('what was blamed on members', () => {
  it('leaves those alone that stood by when it is taken back', () => {
    const { pool } = five({ breaker: { failureThreshold: 1 } })
    const [first, second] = [taken(pool, undefined, []), taken(pool, undefined, [])]
    pool.drain('c')
    pool.drain('d')
    pool.drain('e')
    pool.recordOutcome(first, DOWN, [first])
    expect(pool.breaker('a').state).toBe('open')
    const third = taken(pool)
    pool.recordOutcome(third, NOTHING, [third])
    pool.recordOutcome(second, DOWN, [second])
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
    expect(pool.breaker('a').state).toBe('closed')
    expect(pool.breaker('a').snapshot().lastFailureTime).toBeUndefined()
  })

  it('is not what an abort of the same member said', () => {
    const { pool } = made({ members: called('a', 'b'), breaker: { failureThreshold: 1 } })
    pool.drain('b')
    const [first, second] = [taken(pool), taken(pool)]
    pool.recordOutcome(first, DOWN, [first])
    pool.recordOutcome(second, NOTHING, [second])
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').state).toBe('closed')
  })

  it.each([
    [1, 'closed'],
    [2, 'open'],
  ])('leaves %d failures of another kind, and with them the breaker %s', (others, state) => {
    const { pool } = made({ members: called('a', 'b'), breaker: { failureThreshold: 2 } })
    pool.drain('b')
    const picks = Array.from({ length: 1 + others }, () => taken(pool))
    for (const [i, pick] of picks.entries()) pool.recordOutcome(pick, i === 0 ? DOWN : FAILURE, [pick])
    expect(pool.breaker('a').state).toBe('open')
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').state).toBe(state)
    if (others === 1) expect(pool.breaker('a').failureCount).toBe(1)
    expect(pool.stats('a')).toMatchObject({ failureCount: others, circuitBreakerOpens: others - 1 })
  })

  it('is nothing where such faults do not count', () => {
    const { pool } = five({ breaker: { failureThreshold: 1, failureOn: ['ETIMEDOUT'] } })
    attempts(pool, 2, undefined, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
  })

  it('stays where only some met a fault, and nobody hears of a network that was never down', () => {
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
      'behind a code of somebody else',
      Object.assign(new Error('x', { cause: withCode('ENOTFOUND') }), { code: 'GATEWAY' }),
    ],
  ])('are seen %s', (_, error) => {
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
    ['a code in a value', { ...SUCCESS, result: withCode('ENETDOWN') }],
    [
      'an error of the network without a code',
      thrown(Object.assign(new Error('x'), { name: 'NetworkError' })),
    ],
    [
      'such a code where the engine sees something else',
      { ...DOWN, classification: classify(new Error('x')) },
    ],
    ['anything else', FAILURE],
  ])('are not to be seen in %s', (_, outcome) => {
    const { pool } = five({ breaker: { failureThreshold: 99 } })
    for (let i = 0; i < 10; i++) call(pool, outcome)
    expect(isDown(pool)).toBe(false)
  })

  it('are a matter of more than half of those used', () => {
    const { pool } = five()
    // Used, and neither here nor there.
    for (let i = 0; i < 2; i++) call(pool, FAILURE)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
  })

  it('are not a matter of one member alone', () => {
    const { pool } = made({ members: called('a'), breaker: { failureThreshold: 3 } })
    for (let i = 0; i < 3; i++) call(pool, DOWN)
    expect(pool.createUnavailableError().code).toBe('POOL_UNAVAILABLE')
    expect(pool.breaker('a').failureCount).toBe(3)
  })

  it('count against the member while others have answers', () => {
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

  it('are taken back from breakers and counters when it turns out that the network is down', async () => {
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

  it('are taken back from members that have no breaker yet, down to when they last failed', async () => {
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

  it('are taken back from the breakers that they opened', () => {
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

  it('leave what else has failed meanwhile where it is', async () => {
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

  it('leave a breaker open that others have opened', () => {
    const { pool } = five({ breaker: { failureThreshold: 2 } })
    for (const id of ['b', 'c', 'd', 'e']) pool.drain(id)
    const picks = [taken(pool), taken(pool), taken(pool)] as const
    pool.recordOutcome(picks[0], DOWN, [])
    pool.recordOutcome(picks[1], thrown(withCode('ETIMEDOUT')), [])
    expect(pool.breaker('a').state).toBe('open')
    pool.recordOutcome(picks[2], thrown(withCode('ETIMEDOUT')), [])
    pool.enable('b')
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    // A fault and a timeout opened it; the two timeouts would have done so as well.
    expect(pool.breaker('a').snapshot()).toMatchObject({ state: 'open' })
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
  })

  it('are taken back alone: what failed before, between and after stays in the window', async () => {
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

  it('are taken back from the breaker of a member that somebody had asked for', () => {
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

  it('are taken back from a breaker that has been open before, with all it knew of that', async () => {
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

  it('do not touch the member that came in the place of one that had met them', () => {
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

  it('of one member that lie further apart than the window are taken back one by one', async () => {
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

  it('that are exactly as old as the window are taken back', async () => {
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

  it('leave a breaker open that somebody opened by hand', () => {
    const { pool } = five()
    call(pool, DOWN)
    pool.breaker('a').trip()
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.breaker('a').state).toBe('open')
    expect(pool.stats('a').circuitBreakerOpens).toBe(1)
    expect(failures(pool)).toEqual([0, 0, 0, 0, 0])
  })

  it('that ended a test are taken back: it is tested again at once', async () => {
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

  it('are taken back from rates', async () => {
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

  it('are not taken back once somebody had an answer', () => {
    const { pool } = five()
    call(pool, DOWN)
    call(pool)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    call(pool, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(failures(pool)).toEqual([1, 0, 0, 0, 0])
  })

  it('change no score until somebody had an answer', () => {
    const { pool } = five({ strategy: 'score' })
    call(pool, DOWN)
    expect(pool.stats('a').score).toBe(0.5)
    call(pool)
    expect(pool.stats('a').score).toBeLessThan(0.5)
    expect(pool.stats('b').score).toBe(1)
  })

  it('change no score when the network was down', () => {
    const { pool } = five({ strategy: 'score' })
    attempts(pool, 2, undefined, DOWN)
    expect(isDown(pool)).toBe(true)
    expect(pool.stats('a').score).toBe(0.5)
    expect(pool.stats('b').score).toBe(0.5)
  })

  it('of members that are gone are forgotten', () => {
    const { pool } = five()
    call(pool, DOWN)
    pool.remove('a')
    pool.add({ id: 'f', value: '' })
    call(pool, DOWN)
    expect(isDown(pool)).toBe(false)
    const gone = taken(pool)
    pool.remove(gone.member.id)
    pool.recordOutcome(gone, DOWN, [gone])
    expect(isDown(pool)).toBe(false)
    expect(pool.stats('f').failureCount).toBe(0)
  })

  it('that lie further back than the window do not count', async () => {
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
  ])('are measured by those used within the window: %d ms ago', async (ms, expected) => {
    const { pool, clock } = five({ breaker: { windowDuration: 8000 } })
    await clock.advance(500)
    for (let i = 0; i < 5; i++) call(pool, FAILURE)
    await clock.advance(ms)
    for (let i = 0; i < 2; i++) call(pool, DOWN)
    expect(isDown(pool)).toBe(expected)
  })
})

describe('a network that is down', () => {
  /** A pool whose network is down. */
  function down(options: Parameters<typeof made>[0] = {}) {
    const { pool, clock } = five(options)
    const events: PoolEvent[] = []
    attempts(pool, 2, undefined, DOWN)
    pool.on((event) => events.push(event))
    return { pool, clock, events }
  }

  it('lets one call through a second, and blames nobody for what becomes of it', async () => {
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
    ['a call that was called off', thrown(new DOMException('off', 'AbortError')), true],
    ['an abort', NOTHING, true],
    ['an error that says nothing', FAILURE, true],
  ])('after %s', async (_, outcome, still) => {
    const { pool, clock } = down()
    await clock.advance(1000)
    call(pool, outcome)
    expect(isDown(pool)).toBe(still)
  })

  it('is tested a second after it was recognised, whatever comes in meanwhile', async () => {
    const { pool, clock } = five()
    const late = taken(pool)
    attempts(pool, 2, undefined, DOWN)
    await clock.advance(600)
    pool.recordOutcome(late, DOWN, [late])
    expect(pool.createUnavailableError().retryAfter).toBe(400)
  })

  it('ends with the answer to a call that was under way, though its member is gone', () => {
    const { pool } = five()
    const early = taken(pool)
    attempts(pool, 2, undefined, DOWN)
    expect(isDown(pool)).toBe(true)
    pool.remove('a')
    pool.recordOutcome(early, SUCCESS, [early])
    expect(isDown(pool)).toBe(false)
  })

  it('ends when the window has passed without a fault', async () => {
    const { pool, clock, events } = down({ breaker: { windowDuration: 5000 } })
    await clock.advance(5000)
    expect(isDown(pool)).toBe(true)
    await clock.advance(1)
    expect(isDown(pool)).toBe(false)
    expect(calls(pool, 2)).toEqual(['c', 'd'])
    expect(events).toEqual([{ type: 'network_changed', down: false, timestamp: clock.wall() }])
  })

  it('goes on as long as there are faults', async () => {
    const { pool, clock } = down({ breaker: { windowDuration: 5000 } })
    for (let i = 0; i < 10; i++) {
      await clock.advance(1000)
      call(pool, DOWN)
    }
    expect(isDown(pool)).toBe(true)
  })

  it('blames members again once it is over', async () => {
    const { pool, clock, events } = down()
    await clock.advance(1000)
    call(pool)
    expect(events).toEqual([{ type: 'network_changed', down: false, timestamp: clock.wall() }])
    call(pool, DOWN)
    expect(pool.stats('d').failureCount).toBe(1)
  })
})
