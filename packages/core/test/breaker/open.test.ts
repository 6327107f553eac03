import { describe, expect, it } from 'vitest'
import { isHoldfastError } from '../../src/index.js'
import { admitted, fail, made, opened, refusalOf } from './setup.js'

describe('an open breaker', () => {
  it('refuses every call', () => {
    const { breaker } = opened()
    for (let i = 0; i < 10; i++) expect(breaker.admit()).toBeUndefined()
  })

  it('does not call the function', async () => {
    const { breaker } = opened()
    let calls = 0
    await breaker.run(() => calls++).catch(() => {})
    expect(calls).toBe(0)
  })

  it('refuses with CIRCUIT_OPEN, the time that is left and its own name', async () => {
    const { breaker, clock } = opened({ id: 'mail' })
    await clock.advance(400)
    const error = await refusalOf(breaker)
    expect(isHoldfastError(error, 'CIRCUIT_OPEN')).toBe(true)
    expect(error.retryAfter).toBe(600)
    expect(error.message).toContain('mail')
    expect(error.message).toContain('open')
    expect(error.message).toContain('600 ms')
  })

  it('says a part of a millisecond as a whole one', async () => {
    const { breaker, clock } = opened()
    await clock.advance(999.5)
    const error = await refusalOf(breaker)
    expect(error.retryAfter).toBe(0.5)
    expect(error.message).toContain(' 1 ms')
  })

  it('refuses each caller with an error of its own', async () => {
    const { breaker } = opened()
    expect(await refusalOf(breaker)).not.toBe(await refusalOf(breaker))
  })

  it('still refuses a millisecond before its time is up', async () => {
    const { breaker, clock } = opened()
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    expect(breaker.state).toBe('open')
  })

  it('lets a caller test it at the very moment its time is up', async () => {
    const { breaker, clock } = opened()
    await clock.advance(1000)
    expect(breaker.admit()).toBeDefined()
    expect(breaker.state).toBe('half_open')
  })

  it('reads open, however long ago its time was up, until a caller is admitted', async () => {
    const { breaker, clock } = opened()
    await clock.advance(3_600_000)
    expect(breaker.state).toBe('open')
    expect(breaker.failureCount).toBe(3)
    admitted(breaker)
    expect(breaker.state).toBe('half_open')
  })

  it('tells in epoch milliseconds when it may be tested', async () => {
    const { breaker, clock } = opened()
    const due = clock.wall() + 1000
    expect(breaker.nextTestTime).toBe(due)
    await clock.advance(400)
    expect(breaker.nextTestTime).toBe(due)
  })

  it('goes on telling when it might have been tested, once its time is up', async () => {
    const { breaker, clock } = opened()
    const { nextTestTime } = breaker
    expect(nextTestTime).toBe(clock.wall() + 1000)
    await clock.advance(5000)
    expect(breaker.nextTestTime).toBe(nextTestTime)
    expect(breaker.snapshot().nextTestTime).toBe(nextTestTime)
  })

  it('moves the time it tells with the wall clock, and keeps to the time that is left', () => {
    const { breaker, clock } = opened()
    clock.stepWall(3_600_000)
    expect(breaker.nextTestTime).toBe(clock.wall() + 1000)
  })

  it('keeps the count of the failures that opened it', async () => {
    const { breaker, clock } = opened({ windowDuration: 500 })
    await clock.advance(900)
    expect(breaker.failureCount).toBe(3)
  })

  it('starts its time anew when it is tripped again', async () => {
    const { breaker, clock } = opened()
    await clock.advance(900)
    breaker.trip()
    await clock.advance(999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })

  it('does not grow its time when it is tripped again', async () => {
    const { breaker } = opened({ timeoutMultiplier: 2 })
    breaker.trip()
    breaker.trip()
    expect((await refusalOf(breaker)).retryAfter).toBe(1000)
  })

  it('closes when it is reset, with nothing counted', () => {
    const { breaker } = opened()
    breaker.reset()
    expect(breaker.state).toBe('closed')
    expect(breaker.failureCount).toBe(0)
    expect(breaker.nextTestTime).toBeUndefined()
    fail(breaker, 2)
    expect(breaker.state).toBe('closed')
  })

  it('rests for 30 seconds by default', async () => {
    const { breaker, clock } = made()
    breaker.trip()
    await clock.advance(29_999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })
})
