import { expect, it } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

it('a pool uses its own clock when the guard has another one', async () => {
  const clock = fakeClock()
  const pool = new Pool({
    id: 'p',
    clock,
    members: [{ id: 'a', value: 1 }],
    breaker: { failureThreshold: 1 },
  })
  const call = guard({ pool, retry: false })
  await call.run(() => Promise.reject(new Error('down'))).catch(() => {})
  await expect(call.run(() => 'up')).rejects.toMatchObject({ code: 'POOL_UNAVAILABLE' })
  await clock.advance(30_000)
  expect(await call.run(() => 'up')).toBe('up')
})

it('a member fault causes no failover when every member has been tried', async () => {
  const clock = fakeClock()
  const members = ['a', 'b'].map((id) => ({ id, value: id }))
  const pool = new Pool({ id: 'p', clock, members, memberFaults: [403] })
  const went: string[] = []
  const call = guard({ clock, pool, retry: { maxAttempts: 5, backoffType: 'immediate' } }).run(
    ({ member }) => {
      went.push(member.id)
      return { status: 403, headers: new Headers() }
    },
  )
  expect(await call).toMatchObject({ status: 403 })
  expect(went.sort()).toEqual(['a', 'b'])
})
