import { describe, expect, it, vi } from 'vitest'
import { guard, Pool } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

function createPool() {
  const clock = fakeClock()
  const memberFault = vi.fn(({ error }: { error?: unknown }) => error !== undefined)
  const pool = new Pool({
    id: 'p',
    members: [
      { id: 'a', value: 'a' },
      { id: 'b', value: 'b' },
    ],
    memberFault,
    breaker: { failureThreshold: 1 },
    clock,
  })
  return { clock, pool, memberFault }
}

describe('memberFault', () => {
  it('is not asked about the run of a hedge that was cancelled because another one won', async () => {
    const { clock, pool, memberFault } = createPool()
    const api = guard({ pool, hedge: { delay: 100 }, retry: false, clock })
    const call = api.run(({ member }) => (member.id === 'a' ? new Promise<string>(() => {}) : member.value))
    await clock.advance(100)
    expect(await call).toBe('b')
    expect(pool.stats('a')).toMatchObject({ totalAttempts: 1, failureCount: 0 })
    expect(pool.breaker('a').state).toBe('closed')
    expect(memberFault.mock.calls).toEqual([[{ member: pool.members()[1], value: 'b' }]])
  })

  it('is not asked about an attempt that the caller aborted', async () => {
    const { clock, pool, memberFault } = createPool()
    const api = guard({
      pool,
      retry: { maxAttempts: 2, backoffType: 'immediate', retryIf: ({ value }) => value === 'incomplete' },
      clock,
    })
    const controller = new AbortController()
    const call = api.run(({ member }) => (member.id === 'a' ? 'incomplete' : new Promise<string>(() => {})), {
      signal: controller.signal,
    })
    await clock.advance(1)
    controller.abort(new Error('not needed'))
    await expect(call).rejects.toThrow('not needed')
    expect(pool.stats('b')).toMatchObject({ totalAttempts: 1, failureCount: 0 })
    expect(memberFault.mock.calls).toEqual([[{ member: pool.members()[0], value: 'incomplete' }]])
  })
})
