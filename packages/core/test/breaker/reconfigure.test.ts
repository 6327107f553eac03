import { describe, expect, it } from 'vitest'
import { BREAKER_DEFAULTS, parseBreakerOptions } from '../../src/breaker/options.js'
import { type BreakerOptions, CircuitBreaker } from '../../src/index.js'
import type { OptionProblem } from '../../src/options.js'
import { fakeClock } from '../../src/testing/index.js'

function made(options: BreakerOptions) {
  const clock = fakeClock()
  const breaker = new CircuitBreaker({ id: 'b', clock, ...options })
  const fail = (times = 1) => {
    for (let i = 0; i < times; i++) breaker.admit()?.failure()
  }
  const to = (next: BreakerOptions) => {
    const problems: OptionProblem[] = []
    breaker.reconfigure(parseBreakerOptions('', next, { ...BREAKER_DEFAULTS, clock, id: 'b' }, problems))
    expect(problems).toEqual([])
  }
  return { clock, breaker, fail, to }
}

describe('a breaker with changed settings', () => {
  it('keeps the failures in its window', () => {
    const { breaker, fail, to } = made({ failureThreshold: 5 })
    fail(2)
    to({ failureThreshold: 3 })
    expect(breaker.failureCount).toBe(2)
    fail()
    expect(breaker.state).toBe('open')
  })

  it('keeps only as many failures as the new threshold needs, and opens with the next', () => {
    const { breaker, fail, to } = made({ failureThreshold: 9 })
    fail(6)
    to({ failureThreshold: 2 })
    expect(breaker.state).toBe('closed')
    fail()
    expect(breaker.state).toBe('open')
  })

  it('uses the new window duration', async () => {
    const { breaker, clock, fail, to } = made({ failureThreshold: 3, windowDuration: 60_000 })
    fail(2)
    await clock.advance(20_000)
    to({ failureThreshold: 3, windowDuration: 10_000 })
    expect(breaker.failureCount).toBe(0)
    fail()
    expect(breaker.state).toBe('closed')
  })

  it('starts an empty window where the type changed', () => {
    const { breaker, fail, to } = made({ failureThreshold: 5 })
    fail(4)
    to({ failureThreshold: 5, windowType: 'consecutive' })
    expect(breaker.failureCount).toBe(0)
  })

  it('stays open no longer than the new settings allow', async () => {
    const { breaker, clock, fail, to } = made({ failureThreshold: 1, timeoutDuration: 60_000 })
    fail()
    to({ failureThreshold: 1, timeoutDuration: 5000 })
    expect(breaker.state).toBe('open')
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(5000)
    expect(breaker.admit()).toBeDefined()
  })

  it('does not stay open longer because the new time is longer', async () => {
    const { breaker, clock, fail, to } = made({ failureThreshold: 1, timeoutDuration: 5000 })
    fail()
    to({ failureThreshold: 1, timeoutDuration: 60_000 })
    await clock.advance(5000)
    expect(breaker.admit()).toBeDefined()
  })

  it('counts the result of a probe that was running', async () => {
    const { breaker, clock, fail, to } = made({ failureThreshold: 1, timeoutDuration: 1000 })
    fail()
    await clock.advance(1000)
    const probe = breaker.admit()
    to({ failureThreshold: 7, timeoutDuration: 1000 })
    expect(breaker.state).toBe('half_open')
    probe?.success()
    expect(breaker.state).toBe('closed')
  })

  it('starts and stops adapting', () => {
    const { breaker, to } = made({})
    to({ adaptive: true })
    breaker.admit()?.success()
    expect(breaker.snapshot().results).toBe('1')
    to({ adaptive: false })
    expect(breaker.snapshot().results).toBeUndefined()
  })

  it('uses the new open time when it is tripped again', async () => {
    const { breaker, clock, to } = made({ timeoutDuration: 800 })
    breaker.trip()
    to({ timeoutDuration: 60_000 })
    await clock.advance(100)
    breaker.trip()
    expect(breaker.nextTestTime).toBe(clock.wall() + 60_000)
    await clock.advance(59_999)
    expect(breaker.admit()).toBeUndefined()
    await clock.advance(1)
    expect(breaker.admit()).toBeDefined()
  })
})
