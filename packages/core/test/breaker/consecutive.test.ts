import { describe, expect, it } from 'vitest'
import { admitted, fail, made, succeed } from './setup.js'

const windowType = 'consecutive'

describe('a consecutive window', () => {
  it('opens with failureThreshold failures in a row', () => {
    const { breaker } = made({ windowType, failureThreshold: 3 })
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
  })

  it('is cleared by every success', () => {
    const { breaker } = made({ windowType, failureThreshold: 3 })
    fail(breaker, 2)
    expect(breaker.failureCount).toBe(2)
    succeed(breaker)
    expect(breaker.failureCount).toBe(0)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('is cleared by the first success after failures and stays empty with the next', () => {
    const { breaker } = made({ windowType, failureThreshold: 5 })
    fail(breaker, 4)
    succeed(breaker, 3)
    fail(breaker, 4)
    expect(breaker.failureCount).toBe(4)
    expect(breaker.state).toBe('closed')
  })

  it('is not interrupted by an ignored call', () => {
    const { breaker } = made({ windowType, failureThreshold: 3 })
    fail(breaker, 2)
    admitted(breaker).ignore()
    expect(breaker.failureCount).toBe(2)
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('uses the order in which calls end, not in which they started', () => {
    const { breaker } = made({ windowType, failureThreshold: 2 })
    const good = admitted(breaker)
    fail(breaker)
    good.success()
    fail(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('never removes a failure because of its age', async () => {
    const { breaker, clock } = made({ windowType, failureThreshold: 3, windowDuration: 1000 })
    for (let i = 0; i < 3; i++) {
      fail(breaker)
      await clock.advance(86_400_000)
    }
    expect(breaker.state).toBe('open')
  })

  it('is empty after the breaker has closed', async () => {
    const { breaker, clock } = made({ windowType, failureThreshold: 3, timeoutDuration: 1000 })
    fail(breaker, 3)
    await clock.advance(1000)
    succeed(breaker)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })
})
