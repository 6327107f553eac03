import { expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a call does not wait for the Retry-After of a member when it fails over to another', async () => {
  const clock = fakeClock()
  const pool = new Pool({ id: 'p', clock, members: ['a', 'b'].map((id) => ({ id, value: id })) })
  const limited = Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '30' } })
  const call = guard({ clock, pool, retry: { baseDelay: 10 } }).run(({ member }) => {
    if (member.id === 'a') throw limited
    return member.id
  })
  await clock.advance(10)
  expect(await call).toBe('b')
})
