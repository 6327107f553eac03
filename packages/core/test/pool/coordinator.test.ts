import { describe, expect, it } from 'vitest'
import type { PoolEvent } from '../../src/index.js'
import type { PoolCoordinator } from '../../src/internal/index.js'
import { call, calls, createPool, FAILURE, membersNamed, selectMember, thrown, withStatus } from './setup.js'

const limited = (seconds: number) => thrown(withStatus(429, { 'retry-after': `${seconds}` }))

/** A pool, and the calls of its coordinator. */
function linked(...ids: string[]) {
  const { pool, clock } = createPool({ members: membersNamed(...ids) })
  const told: unknown[][] = []
  const link: PoolCoordinator = {
    onCooldownStarted: (...of) => told.push(of),
    onCooldownEnded: (id) => told.push([id]),
  }
  pool.setCoordinator(link)
  const events: PoolEvent[] = []
  pool.on((event) => events.push(event))
  return { pool, clock, told, events }
}

describe('a cooldown from another node', () => {
  it('makes the member unavailable for its duration and is reported to listeners', async () => {
    const { pool, clock, events } = linked('a', 'b')
    expect(pool.startCooldown('a', 50)).toBe(true)
    expect(pool.status('a')).toBe('resting')
    expect(events).toEqual([
      { type: 'member_changed', change: 'rested', memberId: 'a', timestamp: clock.wall(), retryAfter: 50 },
    ])
    await clock.advance(49)
    expect(calls(pool, 2)).toEqual(['b', 'b'])
    expect(pool.cooldownRemaining('a')).toBe(1)
    await clock.advance(1)
    expect(calls(pool, 2)).toEqual(['a', 'b'])
    expect(pool.cooldownRemaining('a')).toBe(0)
  })

  it('is not sent back to the coordinator', () => {
    const { pool, told } = linked('a')
    pool.startCooldown('a', 50)
    pool.endCooldown('a')
    expect(told).toEqual([])
  })

  it('changes nothing when the current cooldown ends later', () => {
    const { pool, events } = linked('a')
    pool.startCooldown('a', 50)
    expect(pool.startCooldown('a', 50)).toBe(false)
    expect(pool.startCooldown('a', 49)).toBe(false)
    expect(pool.cooldownRemaining('a')).toBe(50)
    expect(events).toHaveLength(1)
    expect(pool.startCooldown('a', 51)).toBe(true)
    expect(pool.cooldownRemaining('a')).toBe(51)
  })

  it.each([0, -1, Number.NaN])('of %s ms is ignored', (ms) => {
    const { pool, events } = linked('a')
    expect(pool.startCooldown('a', ms)).toBe(false)
    expect(pool.status('a')).toBe('available')
    expect(events).toEqual([])
  })

  it('is ignored for a removed member', () => {
    const { pool } = linked('a')
    expect(pool.startCooldown('gone', 50)).toBe(false)
    expect(pool.endCooldown('gone')).toBe(false)
    expect(() => pool.cooldownRemaining('gone')).toThrow('has no member "gone"')
  })

  it('ends when another node ends it', () => {
    const { pool, events } = linked('a')
    expect(pool.endCooldown('a')).toBe(false)
    pool.startCooldown('a', 50)
    expect(pool.endCooldown('a')).toBe(true)
    expect(call(pool)).toBe('a')
    expect(events).toMatchObject([{ change: 'rested' }, { change: 'enabled', memberId: 'a' }])
  })

  it('is over after its duration, whatever happens then', async () => {
    const { pool, clock, told, events } = linked('a')
    pool.startCooldown('a', 50)
    await clock.advance(50)
    expect(pool.endCooldown('a')).toBe(false)
    pool.enable('a')
    expect(told).toEqual([])
    expect(events).toHaveLength(1)
  })

  it('does not enable a drained member when it ends', () => {
    const { pool } = linked('a')
    pool.drain('a')
    pool.startCooldown('a', 50)
    pool.endCooldown('a')
    expect(pool.status('a')).toBe('drained')
  })
})

describe('a pool coordinator', () => {
  it('receives a cooldown that starts or becomes longer on this node', () => {
    const { pool, told } = linked('a')
    const selections = [
      selectMember(pool),
      selectMember(pool),
      selectMember(pool),
      selectMember(pool),
    ] as const
    pool.recordOutcome(selections[0], limited(5), [])
    pool.recordOutcome(selections[1], limited(2), [])
    pool.recordOutcome(selections[2], limited(9), [])
    pool.recordOutcome(selections[3], limited(0), [])
    expect(told).toEqual([
      ['a', 5000],
      ['a', 9000],
    ])
  })

  it('receives the end of a cooldown by enable', () => {
    const { pool, told } = linked('a')
    pool.enable('a')
    pool.drain('a')
    pool.enable('a')
    expect(told).toEqual([])
    pool.startCooldown('a', 50)
    pool.enable('a')
    expect(told).toEqual([['a']])
    expect(call(pool)).toBe('a')
  })

  it('receives nothing after it is removed', () => {
    const { pool, told } = linked('a')
    pool.setCoordinator(undefined)
    call(pool, limited(5))
    pool.enable('a')
    expect(told).toEqual([])
  })
})

describe('a member breaker that applies a remote state', () => {
  it('makes its member selectable as soon as the remote state allows', async () => {
    const { pool, clock } = createPool({
      members: membersNamed('a'),
      breaker: { failureThreshold: 1, timeoutDuration: 90 },
    })
    call(pool, FAILURE)
    await clock.advance(10)
    pool.breaker('a').scheduleProbe(clock.now() + 5)
    await clock.advance(4)
    expect(pool.pick()).toBeUndefined()
    await clock.advance(1)
    expect(call(pool)).toBe('a')
  })

  it('stays open until the remote time if it was already open', async () => {
    const { pool, clock } = createPool({
      members: membersNamed('a'),
      breaker: { failureThreshold: 1, timeoutDuration: 90 },
    })
    call(pool, FAILURE)
    pool
      .breaker('a')
      .applyRemoteState({ state: 'open', left: 7, openFor: 90, openings: 1, failures: 1, off: false })
    await clock.advance(6)
    expect(pool.pick()).toBeUndefined()
    await clock.advance(1)
    expect(call(pool)).toBe('a')
  })

  it('does not affect the next member of the slot after its member was removed', async () => {
    const { pool, clock } = createPool({ members: membersNamed('a') })
    const breaker = pool.breaker('a')
    pool.remove('a')
    breaker.scheduleProbe(clock.now() + 5)
    pool.add({ id: 'b', value: '' })
    breaker.trip()
    breaker.applyRemoteState({ state: 'open', left: 7, openFor: 90, openings: 1, failures: 1, off: false })
    breaker.scheduleProbe(clock.now() + 5)
    expect(pool.status('b')).toBe('available')
    expect(call(pool)).toBe('b')
  })

  it('makes its member unavailable by the remote state alone', () => {
    const { pool } = createPool()
    pool
      .breaker('a')
      .applyRemoteState({ state: 'open', left: 7, openFor: 90, openings: 1, failures: 1, off: false })
    expect(pool.status('a')).toBe('open')
    expect(calls(pool, 2)).toEqual(['b', 'c'])
  })
})
