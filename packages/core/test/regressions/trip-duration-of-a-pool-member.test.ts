import { describe, expect, it } from 'vitest'
import { Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

function createPool() {
  const clock = fakeClock()
  const pool = new Pool({ id: 'p', members: [{ id: 'a', value: 1 }], clock })
  return { clock, pool }
}

describe('trip with a duration on the breaker of a pool member', () => {
  it('keeps the breaker open and the member unselected for that duration', async () => {
    const { clock, pool } = createPool()
    pool.breaker('a').trip({ duration: '1h' })
    await clock.advance(3_600_000 - 1)
    expect(pool.breaker('a').nextTestTime).toBe(clock.wall() + 1)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
    await clock.advance(1)
    expect(pool.select(undefined, [], undefined)?.member.id).toBe('a')
  })

  it('replaces the open duration of a breaker that is open', async () => {
    const { clock, pool } = createPool()
    pool.breaker('a').trip()
    pool.breaker('a').trip({ duration: '1h' })
    await clock.advance(30_000)
    expect(pool.select(undefined, [], undefined)).toBeUndefined()
  })

  it('rejects a duration that is not above 0', () => {
    const { pool } = createPool()
    expect(() => pool.breaker('a').trip({ duration: -1 })).toThrow('duration')
    expect(pool.breaker('a').state).toBe('closed')
  })
})
