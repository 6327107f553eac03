import { describe, expect, it } from 'vitest'
import { attempts, call, calls, countById, createPool, membersNamed, SUCCESS } from './setup.js'

const ids = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`)
const sessions = Array.from({ length: 2000 }, (_, i) => ({ session: `user-${i}` }))

describe('the strategy sticky', () => {
  it('sends a session to the same member every time', () => {
    const { pool } = createPool({ strategy: 'sticky', members: membersNamed(...ids(20)) })
    for (const context of sessions.slice(0, 50)) expect(new Set(calls(pool, 5, context)).size).toBe(1)
  })

  it('sends a session to the same member of another pool with another order of members', () => {
    const one = createPool({ strategy: 'sticky', members: membersNamed(...ids(100)) }).pool
    const other = createPool({ strategy: 'sticky', members: membersNamed(...ids(100).reverse()) }).pool
    for (const context of sessions) expect(call(one, SUCCESS, context)).toBe(call(other, SUCCESS, context))
  })

  it('distributes sessions over the members', () => {
    const { pool } = createPool({ strategy: 'sticky', members: membersNamed(...ids(20)) })
    const counts = Object.values(countById(sessions.map((context) => call(pool, SUCCESS, context))))
    expect(counts).toHaveLength(20)
    expect(Math.max(...counts)).toBeLessThan(100 * 1.5)
    expect(Math.min(...counts)).toBeGreaterThan(100 * 0.5)
  })

  it('moves only the sessions of an unavailable member, and moves them back afterwards', () => {
    const { pool } = createPool({ strategy: 'sticky', members: membersNamed(...ids(20)) })
    const home = sessions.map((context) => call(pool, SUCCESS, context))
    pool.breaker('m7').trip()
    const moved = sessions.map((context) => call(pool, SUCCESS, context))
    for (const [i, id] of home.entries()) {
      if (id === 'm7') expect(moved[i]).not.toBe('m7')
      else expect(moved[i]).toBe(id)
    }
    expect(new Set(moved.filter((_, i) => home[i] === 'm7')).size).toBeGreaterThan(5)
    pool.breaker('m7').reset()
    expect(sessions.map((context) => call(pool, SUCCESS, context))).toEqual(home)
  })

  it('sends sessions to the members that a new pool would choose, though a large pool caches its choices', () => {
    const many = Array.from({ length: 6000 }, (_, i) => ({ session: `user-${i % 5000}` }))
    const all = membersNamed(...ids(5000))
    const { pool } = createPool({ strategy: 'sticky', members: all })
    const drained = new Set<string>()
    const expectFreshChoices = () => {
      const members = all.filter(({ id }) => !drained.has(id))
      const fresh = createPool({ strategy: 'sticky', members }).pool
      for (const context of many) expect(call(pool, SUCCESS, context)).toBe(call(fresh, SUCCESS, context))
    }
    expectFreshChoices()
    for (const context of many.slice(0, 5)) {
      const id = call(pool, SUCCESS, context)
      drained.add(id as string)
      pool.drain(id as string)
    }
    expectFreshChoices()
    for (const id of drained) pool.enable(id)
    drained.clear()
    expectFreshChoices()
  })

  it('moves only the sessions of a new member', () => {
    const { pool } = createPool({ strategy: 'sticky', members: membersNamed(...ids(20)) })
    const home = sessions.map((context) => call(pool, SUCCESS, context))
    pool.add({ id: 'new', value: '' })
    const moved = sessions.map((context) => call(pool, SUCCESS, context))
    const changed = moved.filter((id, i) => id !== home[i])
    expect(new Set(changed)).toEqual(new Set(['new']))
    expect(changed.length).toBeLessThan(200)
    expect(changed.length).toBeGreaterThan(40)
  })

  it('uses the same sequence of other members for the retries of a session', () => {
    const options = {
      strategy: 'sticky',
      members: membersNamed(...ids(5)),
      breaker: { failureThreshold: 99 },
    } as const
    const first = attempts(createPool(options).pool, 7, { session: 'x' })
    expect(new Set(first.slice(0, 5)).size).toBe(5)
    expect(first[5]).toBe(first[0])
    expect(attempts(createPool(options).pool, 7, { session: 'x' })).toEqual(first)
  })

  it('accepts a number as session', () => {
    const { pool } = createPool({ strategy: 'sticky', members: membersNamed(...ids(50)) })
    expect(call(pool, SUCCESS, { session: 12 })).toBe(call(pool, SUCCESS, { session: '12' }))
  })

  it.each([undefined, {}, { session: true }])(
    'sends a call with the context %j to a random member',
    (context) => {
      const { pool } = createPool({ strategy: 'sticky' })
      expect(Object.keys(countById(calls(pool, 100, context))).sort()).toEqual(['a', 'b', 'c'])
    },
  )

  it('finds the only available member among thousands', () => {
    const { pool } = createPool({ strategy: 'sticky', members: membersNamed(...ids(3000)) })
    for (const id of ids(3000)) if (id !== 'm1234') pool.drain(id)
    for (const context of sessions.slice(0, 100)) expect(call(pool, SUCCESS, context)).toBe('m1234')
    pool.drain('m1234')
    expect(pool.pick({ session: 'x' })).toBeUndefined()
  })

  it('keeps a session on the same member of its region', () => {
    const members = membersNamed(...ids(20)).map((member, i) => ({ ...member, region: i % 2 ? 'eu' : 'us' }))
    const { pool } = createPool({ strategy: 'sticky', members })
    const inUs = new Set(members.filter(({ region }) => region === 'us').map(({ id }) => id))
    const homes = sessions.map(({ session }) => {
      const home = call(pool, SUCCESS, { session, region: 'us' })
      expect(inUs.has(home)).toBe(true)
      expect(call(pool, SUCCESS, { session, region: 'us' })).toBe(home)
      return home
    })
    expect(new Set(homes).size).toBe(10)
    // Without an available member in the region another one is used; without a session any member of the region.
    for (const id of inUs) pool.drain(id)
    expect(inUs.has(call(pool, SUCCESS, { session: 'x', region: 'us' }))).toBe(false)
    for (const id of inUs) pool.enable(id)
    expect(calls(pool, 50, { region: 'us' }).every((id) => inUs.has(id))).toBe(true)
  })
})
