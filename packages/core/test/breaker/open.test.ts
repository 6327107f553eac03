import { describe, expect, it } from 'vitest'
import { isHoldfastError } from '../../src/index.js'
import { admitted, fail, made, opened, rejectionOf } from './setup.js'

describe('an open breaker', () => {
  it('rejects every call', () => {
    const { breaker } = opened()
    for (let i = 0; i < 10; i++) expect(breaker.admit()).toBeUndefined()
  })

  it('does not call the function', async () => {
    const { breaker } = opened()
    let calls = 0
    await breaker.run(() => calls++).catch(() => {})
    expect(calls).toBe(0)
  })

  it('rejects with CIRCUIT_OPEN, the time left and its id', async () => {
    const { breaker, clock } = opened({ id: 'mail' })
    await clock.advance(400)
    const error = await rejectionOf(breaker)
    expect(isHoldfastError(error, 'CIRCUIT_OPEN')).toBe(true)
    expect(error.retryAfter).toBe(600)
    expect(error.message).toContain('mail')
    expect(error.message).toContain('open')
    expect(error.message).toContain('600 ms')
  })

  it('rounds the time in its message up to whole milliseconds', async () => {
    const { breaker, clock } = opened()
    await clock.advance(999.5)
    const error = await rejectionOf(breaker)
    expect(error.retryAfter).toBe(0.5)
    expect(error.message).toContain(' 1 ms')
  })

  it('rejects each caller with a new error', async () => {
    const { breaker } = opened()
    expect(await rejectionOf(breaker)).not.toBe(await rejectionOf(breaker))
  })

  it('still rejects a millisecond before its open time is over', async () => {
    const { breaker, clock } = opened()
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.state).toBe('open')
  })

  it('admits a probe at the moment its open time is over', async () => {
    const { breaker, clock } = opened()
    await clock.advance(1000)
    expect(breaker.admit()).toBeDefined()
    expect(breaker.state).toBe('half_open')
  })

  it('stays open after its open time until a probe is admitted', async () => {
    const { breaker, clock } = opened()
    await clock.advance(3_600_000)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
    admitted(breaker)
    expect(breaker.state).toBe('half_open')
  })

  it('has its nextTestTime in epoch milliseconds', async () => {
    const { breaker, clock } = opened()
    const due = clock.wall() + 1000
    expect(breaker.nextTestTime).toBe(due)
    await clock.advance(400)
    expect(breaker.nextTestTime).toBe(due)
  })

  it('keeps its nextTestTime after its open time', async () => {
    const { breaker, clock } = opened()
    const { nextTestTime } = breaker
    expect(nextTestTime).toBe(clock.wall() + 1000)
    await clock.advance(5000)
    expect(breaker.nextTestTime).toBe(nextTestTime)
    expect(breaker.snapshot().nextTestTime).toBe(nextTestTime)
  })

  it('moves its nextTestTime with the wall clock, and keeps the time left', () => {
    const { breaker, clock } = opened()
    clock.stepWall(3_600_000)
    expect(breaker.nextTestTime).toBe(clock.wall() + 1000)
  })

  it('keeps the count of the failures that opened it', async () => {
    const { breaker, clock } = opened({ windowDuration: 500 })
    await clock.advance(900)
    expect(breaker.failureCount).toBe(3)
  })

  it('starts its open time again when it is tripped again', async () => {
    const { breaker, clock } = opened()
    await clock.advance(900)
    breaker.trip()
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })

  it('does not grow its open time when it is tripped again', async () => {
    const { breaker } = opened({ timeoutMultiplier: 2 })
    breaker.trip()
    breaker.trip()
    expect((await rejectionOf(breaker)).retryAfter).toBe(1000)
  })

  it('closes when it is reset, with an empty window', () => {
    const { breaker } = opened()
    breaker.reset()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
    expect(breaker.nextTestTime).toBeUndefined()
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })

  it('stays open for 30 seconds by default', async () => {
    const { breaker, clock } = made()
    breaker.trip()
    await clock.advance(29_999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })
})
