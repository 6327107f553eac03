import { expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a member fault counts once against its member, however many other members answered the call before', async () => {
  const clock = fakeClock()
  const pool = new Pool({
    id: 'p',
    members: ['a', 'b', 'c'].map((id) => ({ id, value: id })),
    memberFaults: [403],
    breaker: { failureThreshold: 2 },
    clock,
  })
  const api = guard({
    pool,
    retry: { maxAttempts: 3, backoffType: 'immediate', retryIf: ({ value }) => value === 'incomplete' },
    clock,
  })
  const call = api.run(({ member }) => {
    if (member.id === 'c') throw Object.assign(new Error('banned'), { status: 403 })
    return 'incomplete'
  })
  await expect(call).rejects.toThrow('banned')
  expect(pool.stats('c')).toMatchObject({ totalAttempts: 1, failureCount: 1 })
  expect(pool.breaker('c').state).toBe('closed')
})
