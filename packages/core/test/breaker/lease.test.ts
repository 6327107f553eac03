import { describe, expect, it } from 'vitest'
import { type CircuitBreakerOptions, type GuardOptions, guard, isHoldfastError } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { admitted, held, opened, rejectionOf } from './setup.js'

/** A breaker whose open time is over, before its first probe. */
async function rested(options: CircuitBreakerOptions = {}) {
  const { breaker, clock } = opened(options)
  await clock.advance(1000)
  return { breaker, clock }
}

describe('the lease of a probe', () => {
  it('releases the permit of a hung probe when it ends', async () => {
    const { breaker, clock } = await rested({ probeLease: 200 })
    admitted(breaker)
    await clock.advance(199)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
    expect(breaker.admit()).toBeUndefined()
  })

  it('counts nothing when it ends', async () => {
    const { breaker, clock } = await rested({ probeLease: 200 })
    admitted(breaker)
    await clock.advance(10_000)
    expect(breaker.state).toBe('half_open')
    expect(breaker.failureCount).toBe(3)
    expect(breaker.snapshot().successCount).toBe(0)
  })

  it('is as long as timeoutDuration by default', async () => {
    const { breaker, clock } = await rested({ timeoutMultiplier: 5 })
    admitted(breaker)
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })

  it('is separate for each probe', async () => {
    const { breaker, clock } = await rested({ probeLease: 200, halfOpenMax: 2 })
    admitted(breaker)
    await clock.advance(150)
    admitted(breaker)
    await clock.advance(50)
    expect(breaker.admit()).toBeDefined()
    expect(breaker.admit()).toBeUndefined()
    expect((await rejectionOf(breaker)).retryAfter).toBe(150)
  })

  it('admits one hung probe after the other, and never more than one at a time', async () => {
    const { breaker, clock } = await rested({ probeLease: 200 })
    for (let i = 0; i < 50; i++) {
      expect(breaker.admit()).toBeDefined()
      expect(breaker.admit()).toBeUndefined()
      await clock.advance(200)
    }
    admitted(breaker).success()
    expect(breaker.state).toBe('closed')
  })

  it.each(['success', 'failure'] as const)(
    'causes a late %s to be ignored where another probe holds the permit',
    async (end) => {
      const { breaker, clock } = await rested({ probeLease: 200 })
      const late = admitted(breaker)
      await clock.advance(200)
      const next = admitted(breaker)
      late[end]()
      expect(breaker.state).toBe('half_open')
      expect(breaker.admit()).toBeUndefined()
      next.success()
      expect(breaker.state).toBe('closed')
    },
  )

  it.each(['success', 'failure'] as const)(
    'causes a late %s to be ignored where no other probe holds the permit',
    async (end) => {
      const { breaker, clock } = await rested({ probeLease: 200 })
      const late = admitted(breaker)
      await clock.advance(201)
      late[end]()
      expect(breaker.state).toBe('half_open')
      expect(breaker.snapshot().successCount).toBe(0)
      expect(breaker.admit()).toBeDefined()
    },
  )

  it.each([
    ['success', 'closed'],
    ['failure', 'open'],
  ] as const)('counts a %s that comes exactly at its end', async (end, state) => {
    const { breaker, clock } = await rested({ probeLease: 200 })
    const probe = admitted(breaker)
    await clock.advance(200)
    probe[end]()
    expect(breaker.state).toBe(state)
  })

  it('ends at once with a probe that is ignored, and counts nothing', async () => {
    const { breaker } = await rested()
    admitted(breaker).ignore()
    expect(breaker.state).toBe('half_open')
    expect(breaker.snapshot().successCount).toBe(0)
    admitted(breaker).ignore()
    admitted(breaker).success()
    expect(breaker.state).toBe('closed')
  })

  it('ends at once with a probe whose error does not count, and counts nothing', async () => {
    const { breaker } = await rested()
    admitted(breaker).failure(Object.assign(new Error('no such page'), { status: 404 }))
    expect(breaker.state).toBe('half_open')
    expect(breaker.admit()).toBeDefined()
  })
})

describe("the lease of a guard's probe", () => {
  const hang = () => new Promise<never>(() => {})

  /** A guard whose breaker admits a probe now. */
  async function restedGuard(options: GuardOptions, breaker: CircuitBreakerOptions = {}) {
    const clock = fakeClock()
    const kept = guard({ clock, retry: false, breaker: { timeoutDuration: 1000, ...breaker }, ...options })
    const { breaker: own } = kept
    if (own === undefined) throw new Error('it has no breaker')
    own.trip()
    await clock.advance(1000)
    return { kept, clock, breaker: own }
  }

  it('is its attempt timeout, and a probe that takes longer has failed', async () => {
    const { kept, clock, breaker } = await restedGuard({ timeout: { attempt: 300 } })
    const test = kept.run(hang).catch((error: unknown) => error)
    await clock.advance(299)
    expect(breaker.state).toBe('half_open')
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(isHoldfastError(await test, 'ATTEMPT_TIMEOUT')).toBe(true)
    expect(breaker.state).toBe('open')
  })

  it('is its attempt timeout even where that is longer than timeoutDuration', async () => {
    const { kept, clock, breaker } = await restedGuard({ timeout: { attempt: 5000 } })
    const test = kept.run(hang).catch((error: unknown) => error)
    await clock.advance(4999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    await test
    expect(breaker.state).toBe('open')
  })

  it('is probeLease where that is given', async () => {
    const { kept, clock, breaker } = await restedGuard({ timeout: { attempt: 300 } }, { probeLease: 100 })
    const test = kept.run(hang).catch(() => 'timed out')
    await clock.advance(99)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
    await clock.advance(200)
    await test
    expect(breaker.state).toBe('half_open')
  })

  it('is timeoutDuration where the guard has no attempt timeout', async () => {
    const { kept, clock, breaker } = await restedGuard({ timeout: { total: 5000 } })
    const test = kept.run(hang).catch(() => 'timed out')
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
    await clock.advance(4000)
    await test
    expect(breaker.state).toBe('half_open')
  })

  it('ends at once with a probe whose caller aborts, and counts nothing', async () => {
    const { kept, breaker } = await restedGuard({})
    const controller = new AbortController()
    const test = kept.run(hang, { signal: controller.signal }).catch(() => 'aborted')
    expect(breaker.admit()).toBeUndefined()
    controller.abort()
    await test
    expect(breaker.state).toBe('half_open')
    expect(breaker.failureCount).toBe(0)
    expect(breaker.admit()).toBeDefined()
  })

  it('counts a probe that succeeds in time', async () => {
    const { kept, clock, breaker } = await restedGuard({ timeout: { attempt: 300 } })
    const { promise, resolve } = held<string>()
    const test = kept.run(() => promise)
    await clock.advance(299)
    resolve('up')
    await test
    expect(breaker.state).toBe('closed')
  })
})
