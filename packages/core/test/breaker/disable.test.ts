import { describe, expect, it } from 'vitest'
import type { BreakerEvent } from '../../src/index.js'
import { admitted, fail, made, opened, refusalOf, succeed } from './setup.js'

describe('a disabled breaker', () => {
  it('reads as closed and says that it is disabled', () => {
    const { breaker } = opened()
    breaker.disable()
    expect(breaker.state).toBe('closed')
    expect(breaker.disabled).toBe(true)
    expect(breaker.failureCount).toBe(0)
    expect(breaker.nextTestTime).toBeUndefined()
  })

  it('lets every call pass and counts nothing', async () => {
    const { breaker } = opened()
    breaker.disable()
    fail(breaker, 100)
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
    await expect(breaker.run(() => 'passed')).resolves.toBe('passed')
    await expect(breaker.run(() => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(breaker.snapshot().lastFailureTime).toBe(opened().breaker.snapshot().lastFailureTime)
  })

  it('cannot be tripped', () => {
    const { breaker } = made()
    breaker.disable()
    breaker.trip()
    expect(breaker.state).toBe('closed')
    expect(breaker.admit()).toBeDefined()
  })

  it('stays disabled when it is reset', () => {
    const { breaker } = made({ failureThreshold: 1 })
    breaker.disable()
    breaker.reset()
    expect(breaker.disabled).toBe(true)
    fail(breaker)
    expect(breaker.state).toBe('closed')
  })

  it('takes no notice of calls from before', () => {
    const { breaker } = made({ failureThreshold: 1 })
    const late = admitted(breaker)
    breaker.disable()
    late.failure()
    breaker.enable()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
  })

  it('can be disabled twice', () => {
    const { breaker } = made()
    breaker.disable()
    breaker.disable()
    expect(breaker.disabled).toBe(true)
    breaker.enable()
    expect(breaker.disabled).toBe(false)
  })

  it('tells its listeners that it closed, where it was open, and nothing where it was closed', () => {
    const { breaker } = opened()
    const events: BreakerEvent[] = []
    breaker.on((event) => events.push(event))
    breaker.disable()
    breaker.enable()
    breaker.disable()
    expect(events).toMatchObject([{ fromState: 'open', toState: 'closed', failureCount: 0 }])
  })
})

describe('an enabled breaker', () => {
  it('counts from nothing', () => {
    const { breaker } = made({ failureThreshold: 3 })
    fail(breaker, 2)
    breaker.disable()
    breaker.enable()
    expect(breaker.disabled).toBe(false)
    expect(breaker.failureCount).toBe(0)
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
    fail(breaker)
    expect(breaker.state).toBe('open')
  })

  it('remembers how its open time had grown', async () => {
    const { breaker } = opened({ timeoutMultiplier: 2 })
    breaker.disable()
    breaker.enable()
    breaker.trip()
    expect((await refusalOf(breaker)).retryAfter).toBe(2000)
  })

  it('takes the time it was disabled for time closed', async () => {
    const { breaker, clock } = opened({ timeoutMultiplier: 2 })
    breaker.disable()
    await clock.advance(1000)
    breaker.enable()
    breaker.trip()
    expect((await refusalOf(breaker)).retryAfter).toBe(1000)
  })

  it('is not closed by being enabled again', async () => {
    const { breaker, clock } = opened()
    breaker.enable()
    expect(breaker.state).toBe('open')
    await clock.advance(1000)
    const probe = admitted(breaker)
    breaker.enable()
    expect(breaker.state).toBe('half_open')
    probe.success()
    expect(breaker.state).toBe('closed')
  })

  it('does not lose its window by being enabled again', () => {
    const { breaker } = made({ failureThreshold: 3 })
    fail(breaker, 2)
    breaker.enable()
    succeed(breaker)
    fail(breaker)
    expect(breaker.state).toBe('open')
  })
})
