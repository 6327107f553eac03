import { describe, expect, it } from 'vitest'
import { admitted, fail, made, opened, succeed } from './setup.js'

const ENDS = ['success', 'failure'] as const

describe('a result that comes late', () => {
  it.each(ENDS)('as a %s after the breaker opened changes nothing', (end) => {
    const { breaker, clock } = made({ failureThreshold: 3, timeoutDuration: 1000 })
    const late = admitted(breaker)
    fail(breaker, 3)
    const due = clock.wall() + 1000
    late[end]()
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
    expect(breaker.nextTestTime).toBe(due)
  })

  it.each(ENDS)('as a %s while the breaker is half open does not count as a probe', async (end) => {
    const { breaker, clock } = made({ failureThreshold: 3, timeoutDuration: 1000, halfOpenMax: 2 })
    const late = admitted(breaker)
    fail(breaker, 3)
    await clock.advance(1000)
    admitted(breaker)
    late[end]()
    expect(breaker.state).toBe('half_open')
    expect(breaker.snapshot().successCount).toBe(0)
    admitted(breaker)
    expect(breaker.admit()).toBeUndefined()
  })

  it('as a failure after the breaker closed again is not in the new window', async () => {
    const { breaker, clock } = made({ failureThreshold: 3, timeoutDuration: 1000 })
    const late = [admitted(breaker), admitted(breaker), admitted(breaker)]
    fail(breaker, 3)
    await clock.advance(1000)
    succeed(breaker)
    for (const permit of late) permit.failure()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
  })

  it('as a success after the breaker closed again does not empty the new window', async () => {
    const { breaker, clock } = made({ windowType: 'consecutive', failureThreshold: 3, timeoutDuration: 1000 })
    const late = admitted(breaker)
    fail(breaker, 3)
    await clock.advance(1000)
    succeed(breaker)
    fail(breaker, 2)
    late.success()
    expect(breaker.failureCount).toBe(2)
  })

  it('from one half-open period does not count in the next', async () => {
    const { breaker, clock } = opened({ halfOpenMax: 2, successThreshold: 1, probeLease: '1h' })
    await clock.advance(1000)
    const late = admitted(breaker)
    fail(breaker)
    await clock.advance(1000)
    const test = admitted(breaker)
    late.success()
    expect(breaker.state).toBe('half_open')
    test.success()
    expect(breaker.state).toBe('closed')
  })

  it('from before a reset is not in the new window', () => {
    const { breaker } = made({ failureThreshold: 3 })
    const late = [admitted(breaker), admitted(breaker), admitted(breaker)]
    breaker.reset()
    for (const permit of late) permit.failure()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
  })

  it('from a call while the breaker was disabled does not count once it is enabled', () => {
    const { breaker } = made({ failureThreshold: 1 })
    breaker.disable()
    const late = admitted(breaker)
    breaker.enable()
    late.failure()
    expect(breaker.state).toBe('closed')
  })

  it('counts where the breaker stayed closed, regardless of its duration', async () => {
    const { breaker, clock } = made({ failureThreshold: 1 })
    const late = admitted(breaker)
    await clock.advance(86_400_000)
    late.failure()
    expect(breaker.state).toBe('open')
  })

  it('is in the window from when it arrived, not from when its call started', async () => {
    const { breaker, clock } = made({ failureThreshold: 3, windowDuration: 1000 })
    const permits = [admitted(breaker), admitted(breaker)]
    await clock.advance(5000)
    for (const permit of permits) permit.failure()
    await clock.advance(1000)
    expect(breaker.failureCount).toBe(2)
  })
})
