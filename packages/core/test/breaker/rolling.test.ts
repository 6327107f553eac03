import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/index.js'
import { admitted, fail, kept, made, succeed } from './setup.js'

describe('a rolling window', () => {
  it('is the default', () => {
    expect(made().breaker.snapshot().windowType).toBe('rolling')
  })

  it('still counts a failure that is exactly as old as the window is long', async () => {
    const { breaker, clock } = made({ failureThreshold: 2, windowDuration: 1000 })
    fail(breaker)
    await clock.advance(1000)
    expect(breaker.failureCount).toBe(1)
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(2)
  })

  it('no longer counts a failure that is older', async () => {
    const { breaker, clock } = made({ failureThreshold: 2, windowDuration: 1000 })
    fail(breaker)
    await clock.advance(1001)
    expect(breaker.failureCount).toBe(0)
    fail(breaker)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(1)
  })

  it('has a duration of a minute by default', async () => {
    const { breaker, clock } = made()
    fail(breaker)
    await clock.advance(60_000)
    expect(breaker.failureCount).toBe(1)
    await clock.advance(1)
    expect(breaker.failureCount).toBe(0)
  })

  it('removes failures one by one as they expire', async () => {
    const { breaker, clock } = made({ failureThreshold: 9, windowDuration: 1000 })
    for (let i = 0; i < 5; i++) {
      fail(breaker)
      await clock.advance(100)
    }
    expect(breaker.failureCount).toBe(5)
    for (const left of [5, 5, 5, 5, 5, 4, 3, 2, 1, 0]) {
      expect(breaker.failureCount).toBe(left)
      await clock.advance(100.1)
    }
  })

  it('is not emptied by a success', () => {
    const { breaker } = made({ failureThreshold: 3 })
    fail(breaker, 2)
    succeed(breaker, 10)
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('never opens by a success', async () => {
    const { breaker } = made({ failureThreshold: 3 })
    const full = CircuitBreaker.restore(
      { ...breaker.snapshot(), failureWindow: [1, 2, 3].flatMap(() => [Date.UTC(2026, 0, 1), 1, 1, 0]) },
      { failureThreshold: 3, clock: made().clock },
    )
    expect(full.failureCount).toBe(3)
    succeed(full)
    expect(full.state).toBe('closed')
    fail(full)
    expect(full.state).toBe('open')
  })

  it('opens when enough failures are within one window, wherever it begins', async () => {
    const { breaker, clock } = made({ failureThreshold: 3, windowDuration: 1000 })
    for (let i = 0; i < 50; i++) {
      fail(breaker)
      await clock.advance(501)
    }
    expect(breaker.state).toBe('closed')
    fail(breaker)
    await clock.advance(100)
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('is emptied when the breaker closes', async () => {
    const { breaker, clock } = made({ failureThreshold: 3, windowDuration: '1h', timeoutDuration: 10 })
    fail(breaker, 3)
    await clock.advance(10)
    succeed(breaker)
    expect(breaker.failureCount).toBe(0)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })

  it.each([334, 500, 1000, 1001])(
    'has memory limited by the threshold where it fails every %i ms',
    async (pause) => {
      const { breaker, clock } = made({ failureThreshold: 4, windowDuration: 1000 })
      for (let i = 0; i < 300; i++) {
        fail(breaker)
        expect(breaker.snapshot().failureWindow.length / 4).toBeLessThanOrEqual(4)
        expect(kept(breaker)).toBeLessThanOrEqual(2 * 4 * 4)
        await clock.advance(pause)
        expect(breaker.failureCount).toBeLessThan(4)
      }
      expect(breaker.state).toBe('closed')
    },
  )

  it('uses no memory before the first failure', () => {
    const { breaker } = made()
    succeed(breaker, 100)
    admitted(breaker).ignore()
    expect(kept(breaker)).toBeUndefined()
    fail(breaker)
    expect(kept(breaker)).toBeDefined()
  })
})
