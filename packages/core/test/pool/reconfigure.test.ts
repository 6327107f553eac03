import { describe, expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const members = [
  { id: 'a', value: 1 },
  { id: 'b', value: 2 },
  { id: 'c', value: 3, breaker: { failureThreshold: 4 } },
]

function createPool() {
  const clock = fakeClock()
  const pool = new Pool({
    id: 'p',
    members,
    clock,
    breaker: { failureThreshold: 3, timeoutDuration: 60_000 },
  })
  return { clock, pool }
}

const fail = (pool: Pool<number>, id: string, times: number) => {
  for (let i = 0; i < times; i++) pool.breaker(id).admit()?.failure()
}

describe('Pool.reconfigure', () => {
  it('applies the new threshold to the failures so far', () => {
    const { pool } = createPool()
    fail(pool, 'a', 1)
    pool.reconfigure({ failureThreshold: 2 })
    fail(pool, 'a', 1)
    expect(pool.status('a')).toBe('open')
    expect(pool.status('b')).toBe('available')
  })

  it('keeps the options of members that override those of the pool', () => {
    const { pool } = createPool()
    pool.reconfigure({ failureThreshold: 1 })
    fail(pool, 'c', 3)
    expect(pool.status('c')).toBe('available')
    fail(pool, 'c', 1)
    expect(pool.status('c')).toBe('open')
  })

  it('makes an open member selectable after the new open duration', async () => {
    const { pool, clock } = createPool()
    fail(pool, 'a', 3)
    pool.reconfigure({ failureThreshold: 3, timeoutDuration: 1000 })
    expect(pool.status('a')).toBe('open')
    await clock.advance(1000)
    const seen = new Set<string>()
    const calls = guard({ pool, clock })
    for (let i = 0; i < 6; i++) await calls.run(({ member }) => seen.add(member.id))
    expect([...seen].sort()).toEqual(['a', 'b', 'c'])
  })

  it('applies to members that fail for the first time later', () => {
    const { pool } = createPool()
    pool.reconfigure({ failureThreshold: 1 })
    fail(pool, 'b', 1)
    expect(pool.status('b')).toBe('open')
  })

  it('rejects invalid options and keeps the previous ones', () => {
    const { pool } = createPool()
    expect(() => pool.reconfigure({ failureThreshold: 0 })).toThrow(
      /^invalid options of the pool p: breaker\.failureThreshold: expected .*, got 0$/,
    )
    fail(pool, 'a', 2)
    expect(pool.status('a')).toBe('available')
  })
})

describe('a restored breaker of a pool member', () => {
  it('is not selected until its open duration has passed', async () => {
    const { pool, clock } = createPool()
    fail(pool, 'a', 3)
    const snapshot = pool.breaker('a').snapshot()
    const other = new Pool({
      id: 'p',
      members,
      clock,
      breaker: { failureThreshold: 3, timeoutDuration: 60_000 },
    })
    other.restoreBreaker('a', snapshot)
    expect(other.status('a')).toBe('open')
    for (let i = 0; i < 9; i++) expect(other.pick()?.id).not.toBe('a')
    await clock.advance(60_000)
    expect([1, 2, 3].map(() => other.pick()?.id)).toContain('a')
  })

  it('is among the used breakers', () => {
    const { pool } = createPool()
    expect(pool.usedBreakers()).toEqual([])
    fail(pool, 'b', 1)
    expect(pool.usedBreakers().map(({ id }) => id)).toEqual(['pool:p:b'])
  })
})
