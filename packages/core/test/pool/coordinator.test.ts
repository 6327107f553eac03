import { describe, expect, it } from 'vitest'
import type { PoolEvent } from '../../src/index.js'
import type { PoolCoordinator } from '../../src/internal/index.js'
import { call, called, calls, FAILURE, made, taken, thrown, withStatus } from './setup.js'

const limited = (seconds: number) => thrown(withStatus(429, { 'retry-after': `${seconds}` }))

/** A pool and what it tells the same pool elsewhere. */
function linked(...ids: string[]) {
  const { pool, clock } = made({ members: called(...ids) })
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

describe('a rest that was asked for elsewhere', () => {
  it('leaves the member alone for as long, and is told of', async () => {
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

  it('is not told back', () => {
    const { pool, told } = linked('a')
    pool.startCooldown('a', 50)
    pool.endCooldown('a')
    expect(told).toEqual([])
  })

  it('changes nothing where the member rests as long already', () => {
    const { pool, events } = linked('a')
    pool.startCooldown('a', 50)
    expect(pool.startCooldown('a', 50)).toBe(false)
    expect(pool.startCooldown('a', 49)).toBe(false)
    expect(pool.cooldownRemaining('a')).toBe(50)
    expect(events).toHaveLength(1)
    expect(pool.startCooldown('a', 51)).toBe(true)
    expect(pool.cooldownRemaining('a')).toBe(51)
  })

  it.each([0, -1, Number.NaN])('of %s ms is none', (ms) => {
    const { pool, events } = linked('a')
    expect(pool.startCooldown('a', ms)).toBe(false)
    expect(pool.status('a')).toBe('available')
    expect(events).toEqual([])
  })

  it('may come for a member that has gone', () => {
    const { pool } = linked('a')
    expect(pool.startCooldown('gone', 50)).toBe(false)
    expect(pool.endCooldown('gone')).toBe(false)
    expect(() => pool.cooldownRemaining('gone')).toThrow('has no member "gone"')
  })

  it('ends when it was ended elsewhere', () => {
    const { pool, events } = linked('a')
    expect(pool.endCooldown('a')).toBe(false)
    pool.startCooldown('a', 50)
    expect(pool.endCooldown('a')).toBe(true)
    expect(call(pool)).toBe('a')
    expect(events).toMatchObject([{ change: 'rested' }, { change: 'enabled', memberId: 'a' }])
  })

  it('is no rest any more when its time is up, whatever is done then', async () => {
    const { pool, clock, told, events } = linked('a')
    pool.startCooldown('a', 50)
    await clock.advance(50)
    expect(pool.endCooldown('a')).toBe(false)
    pool.enable('a')
    expect(told).toEqual([])
    expect(events).toHaveLength(1)
  })

  it('leaves a drained member drained', () => {
    const { pool } = linked('a')
    pool.drain('a')
    pool.startCooldown('a', 50)
    pool.endCooldown('a')
    expect(pool.status('a')).toBe('drained')
  })
})

describe('a link to the same pool elsewhere', () => {
  it('is told of a rest that begins here, or becomes longer', () => {
    const { pool, told } = linked('a')
    const picks = [taken(pool), taken(pool), taken(pool), taken(pool)] as const
    pool.recordOutcome(picks[0], limited(5), [])
    pool.recordOutcome(picks[1], limited(2), [])
    pool.recordOutcome(picks[2], limited(9), [])
    pool.recordOutcome(picks[3], limited(0), [])
    expect(told).toEqual([
      ['a', 5000],
      ['a', 9000],
    ])
  })

  it('is told of a rest that is ended here by hand', () => {
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

  it('is told of nothing once it is undone', () => {
    const { pool, told } = linked('a')
    pool.setCoordinator(undefined)
    call(pool, limited(5))
    pool.enable('a')
    expect(told).toEqual([])
  })
})

describe('the breaker of a member that stands where others say', () => {
  it('is chosen again as soon as they say so', async () => {
    const { pool, clock } = made({
      members: called('a'),
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

  it('stays open as long as they say, though it was open before', async () => {
    const { pool, clock } = made({
      members: called('a'),
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

  it('changes nothing for the next in its place once it is removed', async () => {
    const { pool, clock } = made({ members: called('a') })
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

  it('is out by what they say alone', () => {
    const { pool } = made()
    pool
      .breaker('a')
      .applyRemoteState({ state: 'open', left: 7, openFor: 90, openings: 1, failures: 1, off: false })
    expect(pool.status('a')).toBe('open')
    expect(calls(pool, 2)).toEqual(['b', 'c'])
  })
})
