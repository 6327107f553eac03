import { describe, expect, it } from 'vitest'
import type { BreakerEvent } from '../../src/index.js'
import { admitted, fail, made, opened, rejectionOf, succeed } from './setup.js'

describe('a disabled breaker', () => {
  it('is closed and reports that it is disabled', () => {
    const { breaker } = opened()
    breaker.disable()
    expect(breaker.state).toBe('closed')
    expect(breaker.disabled).toBe(true)
    expect(breaker.failureCount).toBe(0)
    expect(breaker.nextTestTime).toBeUndefined()
  })

  it('admits every call and counts nothing', async () => {
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

  it('ignores results of calls from before', () => {
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

  it('emits an event where it was open, and none where it was closed', () => {
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
  it('starts with an empty window', () => {
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

  it('keeps its grown open time', async () => {
    const { breaker } = opened({ timeoutMultiplier: 2 })
    breaker.disable()
    breaker.enable()
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(2000)
  })

  it('counts the time it was disabled as closed time', async () => {
    const { breaker, clock } = opened({ timeoutMultiplier: 2 })
    breaker.disable()
    await clock.advance(1000)
    breaker.enable()
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
  })

  it('is not closed by a second enable', async () => {
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

  it('does not lose its window by a second enable', () => {
    const { breaker } = made({ failureThreshold: 3 })
    fail(breaker, 2)
    breaker.enable()
    succeed(breaker)
    fail(breaker)
    expect(breaker.state).toBe('open')
  })
})
