import { describe, expect, it } from 'vitest'
import { attempts, call, called, calls, FAILURE, made, SUCCESS, taken } from './setup.js'

describe('whether somebody else is available', () => {
  it('counts those that may be chosen and were not tried', () => {
    const { pool } = made({ members: called('a', 'b') })
    const pick = taken(pool)
    expect(pool.hasUntriedMember([])).toBe(true)
    expect(pool.hasUntriedMember([pick])).toBe(true)
    pool.drain('b')
    expect(pool.hasUntriedMember([])).toBe(true)
    expect(pool.hasUntriedMember([pick])).toBe(false)
    // One that was tried and is out itself takes nobody's place.
    pool.enable('b')
    pool.drain('a')
    expect(pool.hasUntriedMember([pick])).toBe(true)
    pool.drain('b')
    expect(pool.hasUntriedMember([])).toBe(false)
  })

  it('counts one whose time is up, though nobody has asked for it', async () => {
    const { pool, clock } = made({ members: called('a', 'b') })
    const pick = taken(pool)
    pool.breaker('b').trip()
    await clock.advance(29_999)
    expect(pool.hasUntriedMember([pick])).toBe(false)
    await clock.advance(1)
    expect(pool.hasUntriedMember([pick])).toBe(true)
  })

  it('counts all that are not drained in a panic', () => {
    const { pool } = made({ members: called('a', 'b', 'c'), panicThreshold: 0.5 })
    const pick = taken(pool)
    expect(pick.member.id).toBe('a')
    pool.breaker('b').trip()
    expect(pool.hasUntriedMember([pick])).toBe(true) // c
    pool.breaker('c').trip()
    expect(pool.hasUntriedMember([pick])).toBe(true) // b and c, come what may
    pool.drain('b')
    pool.drain('c')
    expect(pool.hasUntriedMember([pick])).toBe(false)
  })
})

describe('sticky in regions', () => {
  const members = Array.from({ length: 90 }, (_, i) => ({
    id: `m${i}`,
    value: '',
    ...(i % 3 === 0 ? {} : { region: i % 3 === 1 ? 'eu' : 'us' }),
  }))
  const sessions = Array.from({ length: 300 }, (_, i) => `s${i}`)

  it('leaves out members that were out before anybody named the region', () => {
    const { pool } = made({ strategy: 'sticky', members: members.slice(0, 6) })
    pool.drain('m1')
    for (const session of sessions) expect(call(pool, SUCCESS, { session, region: 'eu' })).toBe('m4')
    pool.enable('m1')
    const both = new Set(sessions.map((session) => call(pool, SUCCESS, { session, region: 'eu' })))
    expect([...both].sort()).toEqual(['m1', 'm4'])
  })

  it('finds every member of a region, and those that come later', () => {
    const { pool } = made({ strategy: 'sticky', members })
    const all = () => new Set(sessions.map((session) => call(pool, SUCCESS, { session, region: 'us' })))
    const first = all()
    expect(first.size).toBe(30)
    for (const id of first) expect(Number(id.slice(1)) % 3).toBe(2)
    for (let i = 0; i < 40; i++) pool.add({ id: `new${i}`, value: '', region: 'us' })
    expect(all().size).toBeGreaterThan(55)
    for (const id of first) pool.remove(id)
    expect([...all()].every((id) => id.startsWith('new'))).toBe(true)
  })

  it('goes anywhere for a region that there is not, or not any more', () => {
    const { pool } = made({ strategy: 'sticky', members: members.slice(0, 6) })
    const where = (region: string) =>
      new Set(sessions.map((session) => call(pool, SUCCESS, { session, region })))
    expect(where('asia').size).toBe(6)
    for (const id of ['m1', 'm4']) pool.remove(id)
    expect(where('eu').size).toBe(4)
  })
})

describe('the best by score', () => {
  const crowd = called(...Array.from({ length: 100 }, (_, i) => `m${i}`))
  const isGood = (id: string) => Number(id.slice(1)) % 2 === 0

  it('is the best of those drawn, where there are many', () => {
    const { pool } = made({ strategy: 'score', members: crowd, breaker: { failureThreshold: 1e6 } })
    // Each has results of its own kind.
    for (const { id } of crowd) {
      for (const other of crowd) if (other.id !== id) pool.drain(other.id)
      call(pool, isGood(id) ? SUCCESS : FAILURE)
      for (const other of crowd) pool.enable(other.id)
    }
    const chosen = calls(pool, 100)
    expect(chosen.filter(isGood).length).toBeGreaterThan(95)
    expect(new Set(chosen).size).toBeGreaterThan(20)
  })

  it('is each once in a call, where there are few', () => {
    const { pool } = made({ strategy: 'score', breaker: { failureThreshold: 1e6 } })
    expect(attempts(pool, 3)).toEqual(['a', 'b', 'c'])
  })
})

it('a member rests where a user takes its answer for a limit, whatever its status', () => {
  const { pool } = made()
  const pick = taken(pool)
  const classification = { category: 'transient', kind: 'rate_limited', retryAfter: 5000 } as const
  pool.recordOutcome(pick, { ...FAILURE, classification, breakerOutcome: undefined }, [pick])
  expect(pool.status(pick.member.id)).toBe('resting')
})
