import { describe, expect, it } from 'vitest'
import type { CircuitBreaker } from '../../src/index.js'
import type { FakeClock } from '../../src/testing/index.js'
import { fail, made, rejectionOf, succeed } from './setup.js'

const openTime = async (breaker: CircuitBreaker) => (await rejectionOf(breaker)).retryAfter

/** Waits until a probe is admitted, which fails. */
async function failTest(breaker: CircuitBreaker, clock: FakeClock): Promise<void> {
  await clock.advance((await openTime(breaker)) ?? 0)
  fail(breaker)
}

/** Waits until a probe is admitted, which succeeds. */
async function passTest(breaker: CircuitBreaker, clock: FakeClock): Promise<void> {
  await clock.advance((await openTime(breaker)) ?? 0)
  succeed(breaker)
}

describe('the open time', () => {
  it('stays the same by default', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip()
    for (let i = 0; i < 5; i++) {
      expect(await openTime(breaker)).toBe(1000)
      await failTest(breaker, clock)
    }
  })

  it('grows by timeoutMultiplier with each opening', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 3 })
    breaker.trip()
    for (const time of [1000, 3000, 9000, 27_000]) {
      expect(await openTime(breaker)).toBe(time)
      await failTest(breaker, clock)
    }
  })

  it('does not grow beyond maxTimeoutDuration', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2, maxTimeoutDuration: 5000 })
    breaker.trip()
    for (const time of [1000, 2000, 4000, 5000, 5000]) {
      expect(await openTime(breaker)).toBe(time)
      await failTest(breaker, clock)
    }
  })

  it('does not grow beyond a year by default, after any number of openings', async () => {
    const { breaker, clock } = made({ timeoutDuration: '1d', timeoutMultiplier: 10 })
    breaker.trip()
    for (let i = 0; i < 400; i++) await failTest(breaker, clock)
    expect(await openTime(breaker)).toBe(365 * 86_400_000)
  })

  it('is timeoutDuration for the first opening, however early that is', async () => {
    const { breaker } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    fail(breaker, 5)
    expect(await openTime(breaker)).toBe(1000)
  })

  it('keeps growing where the breaker was closed for less time than it was last open', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    breaker.trip()
    await failTest(breaker, clock)
    expect(await openTime(breaker)).toBe(2000)
    await passTest(breaker, clock)
    await clock.advance(1999)
    fail(breaker, 5)
    expect(await openTime(breaker)).toBe(4000)
  })

  it('is timeoutDuration again where the breaker was closed for as long as it was last open', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    breaker.trip()
    await failTest(breaker, clock)
    expect(await openTime(breaker)).toBe(2000)
    await passTest(breaker, clock)
    await clock.advance(2000)
    fail(breaker, 5)
    expect(await openTime(breaker)).toBe(1000)
    await failTest(breaker, clock)
    expect(await openTime(breaker)).toBe(2000)
  })

  it('depends on the time since the last closing, not the first', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    breaker.trip()
    await passTest(breaker, clock)
    await clock.advance(600)
    breaker.trip()
    expect(await openTime(breaker)).toBe(2000)
    await passTest(breaker, clock)
    await clock.advance(1999)
    breaker.trip()
    expect(await openTime(breaker)).toBe(4000)
  })

  it('does not count open time as closed time', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    breaker.trip()
    await passTest(breaker, clock)
    breaker.trip()
    await clock.advance(86_400_000)
    fail(breaker)
    expect(await openTime(breaker)).toBe(4000)
  })

  it('keeps growing after a reset, because a reset does not count as closed time', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    breaker.trip()
    breaker.reset()
    breaker.trip()
    expect(await openTime(breaker)).toBe(2000)
    breaker.reset()
    await clock.advance(1000)
    breaker.reset()
    await clock.advance(1000)
    breaker.trip()
    expect(await openTime(breaker)).toBe(1000)
  })

  it('grows when a half-open breaker is tripped', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000, timeoutMultiplier: 2 })
    breaker.trip()
    await clock.advance(1000)
    breaker.admit()
    breaker.trip()
    expect(await openTime(breaker)).toBe(2000)
  })
})
