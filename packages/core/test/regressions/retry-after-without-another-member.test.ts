import { describe, expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const busy = Object.assign(new Error('busy'), { status: 429, headers: { 'retry-after': '2' } })

describe('the Retry-After of a pool member', () => {
  it.each([
    ['are drained', (pool: Pool) => pool.drain('b')],
    ['have an open breaker', (pool: Pool) => pool.breaker('b').trip()],
    ['are in a cooldown', (pool: Pool) => pool.startCooldown('b', 60_000)],
  ])('delays the retry when all other members %s', async (_, takeOut) => {
    const clock = fakeClock()
    const pool = new Pool({ id: 'p', clock, members: ['a', 'b'].map((id) => ({ id, value: id })) })
    takeOut(pool)
    const at: number[] = []
    const answer = guard({ clock, pool }).run(({ member }) => {
      at.push(clock.now())
      if (at.length === 1) throw busy
      return member.value
    })
    await clock.advance(5000)
    expect(await answer).toBe('a')
    expect(at).toEqual([0, 2000])
  })
})
