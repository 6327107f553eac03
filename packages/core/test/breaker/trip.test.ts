import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/index.js'
import { fail, made } from './setup.js'

const DAY_MS = 86_400_000

describe('a breaker that is tripped for a duration', () => {
  it('stays open for the duration, and then admits a probe', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip({ duration: '10m' })
    expect(breaker.nextTestTime).toBe(clock.wall() + 600_000)
    await clock.advance(599_999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    breaker.admit()?.success()
    expect(breaker.state).toBe('closed')
  })

  it('stays open until it is reset where the duration is Infinity', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip({ duration: Number.POSITIVE_INFINITY })
    await clock.advance(300 * DAY_MS)
    expect(breaker.admit()).toBeUndefined()
    breaker.reset()
    expect(breaker.admit()).toBeDefined()
  })

  it('gets another duration when it is tripped again, and the one of its settings without a duration', () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip({ duration: '1h' })
    breaker.trip({ duration: '1m' })
    expect(breaker.nextTestTime).toBe(clock.wall() + 60_000)
    breaker.trip()
    expect(breaker.nextTestTime).toBe(clock.wall() + 1000)
  })

  it('has the open time of its settings after a failed probe', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip({ duration: '1m' })
    await clock.advance(60_000)
    fail(breaker)
    expect(breaker.nextTestTime).toBe(clock.wall() + 1000)
  })

  it('keeps the duration over a snapshot, which limits other open times to those of the options', async () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip({ duration: '1h' })
    await clock.advance(60_000)
    const restored = CircuitBreaker.restore(JSON.parse(JSON.stringify(breaker.snapshot())), {
      timeoutDuration: 1000,
      clock,
    })
    expect(restored.nextTestTime).toBe(clock.wall() + 59 * 60_000)
    const { tripDuration: _, ...withoutTrip } = breaker.snapshot()
    const limited = CircuitBreaker.restore(withoutTrip, { timeoutDuration: 1000, clock })
    expect(limited.nextTestTime).toBe(clock.wall() + 1000)
  })

  it('keeps the duration when its settings change', () => {
    const { breaker, clock } = made({ timeoutDuration: 1000 })
    breaker.trip({ duration: '1h' })
    breaker.reconfigure({ ...breaker.settings, timeoutDuration: 10 })
    expect(breaker.nextTestTime).toBe(clock.wall() + 3_600_000)
  })

  it.each([0, -1, Number.NaN, 'soon', null])('rejects the duration %s', (duration) => {
    const { breaker } = made()
    expect(() => breaker.trip({ duration: duration as never })).toThrow(/duration/)
    expect(breaker.state).toBe('closed')
  })
})
