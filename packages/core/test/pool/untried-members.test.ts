import { describe, expect, it } from 'vitest'
import { attempts, call, calls, createPool, FAILURE, membersNamed, SUCCESS, selectMember } from './setup.js'

describe('Pool.hasUntriedMember', () => {
  it('counts selectable members that were not tried', () => {
    const { pool } = createPool({ members: membersNamed('a', 'b') })
    const selection = selectMember(pool)
    expect(pool.hasUntriedMember([])).toBe(true)
    expect(pool.hasUntriedMember([selection])).toBe(true)
    pool.drain('b')
    expect(pool.hasUntriedMember([])).toBe(true)
    expect(pool.hasUntriedMember([selection])).toBe(false)
    // A tried member that is unavailable does not reduce the number of untried ones.
    pool.enable('b')
    pool.drain('a')
    expect(pool.hasUntriedMember([selection])).toBe(true)
    pool.drain('b')
    expect(pool.hasUntriedMember([])).toBe(false)
  })

  it('counts a member whose open duration has passed without a selection since', async () => {
    const { pool, clock } = createPool({ members: membersNamed('a', 'b') })
    const selection = selectMember(pool)
    pool.breaker('b').trip()
    await clock.advance(29_999)
    expect(pool.hasUntriedMember([selection])).toBe(false)
    await clock.advance(1)
    expect(pool.hasUntriedMember([selection])).toBe(true)
  })

  it('counts all members that are not drained in panic mode', () => {
    const { pool } = createPool({ members: membersNamed('a', 'b', 'c'), panicThreshold: 0.5 })
    const selection = selectMember(pool)
    expect(selection.member.id).toBe('a')
    pool.breaker('b').trip()
    expect(pool.hasUntriedMember([selection])).toBe(true) // c
    pool.breaker('c').trip()
    expect(pool.hasUntriedMember([selection])).toBe(true) // b and c, because of panic mode
    pool.drain('b')
    pool.drain('c')
    expect(pool.hasUntriedMember([selection])).toBe(false)
  })
})

describe('the strategy sticky with regions', () => {
  const members = Array.from({ length: 90 }, (_, i) => ({
    id: `m${i}`,
    value: '',
    ...(i % 3 === 0 ? {} : { region: i % 3 === 1 ? 'eu' : 'us' }),
  }))
  const sessions = Array.from({ length: 300 }, (_, i) => `s${i}`)

  it('does not select members that were unavailable before the region was first used', () => {
    const { pool } = createPool({ strategy: 'sticky', members: members.slice(0, 6) })
    pool.drain('m1')
    for (const session of sessions) expect(call(pool, SUCCESS, { session, region: 'eu' })).toBe('m4')
    pool.enable('m1')
    const both = new Set(sessions.map((session) => call(pool, SUCCESS, { session, region: 'eu' })))
    expect([...both].sort()).toEqual(['m1', 'm4'])
  })

  it('finds every member of a region, including later ones', () => {
    const { pool } = createPool({ strategy: 'sticky', members })
    const all = () => new Set(sessions.map((session) => call(pool, SUCCESS, { session, region: 'us' })))
    const first = all()
    expect(first.size).toBe(30)
    for (const id of first) expect(Number(id.slice(1)) % 3).toBe(2)
    for (let i = 0; i < 40; i++) pool.add({ id: `new${i}`, value: '', region: 'us' })
    expect(all().size).toBeGreaterThan(55)
    for (const id of first) pool.remove(id)
    expect([...all()].every((id) => id.startsWith('new'))).toBe(true)
  })

  it('selects among all members for a region without members', () => {
    const { pool } = createPool({ strategy: 'sticky', members: members.slice(0, 6) })
    const where = (region: string) =>
      new Set(sessions.map((session) => call(pool, SUCCESS, { session, region })))
    expect(where('asia').size).toBe(6)
    for (const id of ['m1', 'm4']) pool.remove(id)
    expect(where('eu').size).toBe(4)
  })
})

describe('the strategy score', () => {
  const crowd = membersNamed(...Array.from({ length: 100 }, (_, i) => `m${i}`))
  const isGood = (id: string) => Number(id.slice(1)) % 2 === 0

  it('selects the best of a random sample of many members', () => {
    const { pool } = createPool({ strategy: 'score', members: crowd, breaker: { failureThreshold: 1e6 } })
    // Each member has a different score.
    for (const { id } of crowd) {
      for (const other of crowd) if (other.id !== id) pool.drain(other.id)
      call(pool, isGood(id) ? SUCCESS : FAILURE)
      for (const other of crowd) pool.enable(other.id)
    }
    const chosen = calls(pool, 100)
    expect(chosen.filter(isGood).length).toBeGreaterThan(95)
    expect(new Set(chosen).size).toBeGreaterThan(20)
  })

  it('selects each of a few members once in a call', () => {
    const { pool } = createPool({ strategy: 'score', breaker: { failureThreshold: 1e6 } })
    expect(attempts(pool, 3)).toEqual(['a', 'b', 'c'])
  })
})

it('a pool member has a cooldown when a classifier reports a rate limit, whatever the status', () => {
  const { pool } = createPool()
  const selection = selectMember(pool)
  const classification = { category: 'transient', kind: 'rate_limited', retryAfter: 5000 } as const
  pool.recordOutcome(selection, { ...FAILURE, classification, breakerOutcome: undefined }, [selection])
  expect(pool.status(selection.member.id)).toBe('resting')
})
