// The status 499 has the kind of a cancelled attempt. A pool that lists it in `memberFaults`, or decides about it in `memberFault`,
// did not count it.
import { describe, expect, it } from 'vitest'
import { guard, Pool, type PoolOptions } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

describe('a response with the status 499', () => {
  it.each<[string, Pick<PoolOptions<string>, 'memberFaults' | 'memberFault'>]>([
    ['memberFaults', { memberFaults: [499] }],
    ['memberFault', { memberFault: ({ statusCode }) => statusCode === 499 }],
  ])('is a fault of its member if %s says so', async (_, faults) => {
    const clock = fakeClock()
    const members = ['a', 'b'].map((id) => ({ id, value: id }))
    const pool = new Pool({ id: 'p', members, breaker: { failureThreshold: 1 }, clock, ...faults })
    const api = guard({ pool, retry: { maxAttempts: 2, backoffType: 'immediate' }, clock })
    const value = await api.run(({ member }) => {
      if (member.id === 'a') throw Object.assign(new Error('closed'), { status: 499 })
      return member.value
    })
    expect(value).toBe('b')
    expect(pool.breaker('a').state).toBe('open')
  })
})
