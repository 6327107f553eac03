import { describe, expect, it } from 'vitest'
import { guard, RetryBudget, sessionOf } from '../../src/index.js'
import { fakeClock } from '../../src/testing/index.js'

const down = () => Promise.reject(new Error('down'))

describe('a retry budget', () => {
  it('has a reserve for a window without calls', () => {
    expect(new RetryBudget({ clock: fakeClock() }).left).toBe(100)
    expect(new RetryBudget({ clock: fakeClock(), reservePerSecond: 3, window: '2s' }).left).toBe(6)
  })

  it('grows by its ratio with each call', () => {
    const budget = new RetryBudget({ clock: fakeClock(), ratio: 0.25, reservePerSecond: 0 })
    for (let i = 0; i < 4; i++) budget.deposit()
    expect(budget.left).toBe(1)
    expect([budget.withdraw(), budget.withdraw()]).toEqual([true, false])
    expect(budget.left).toBe(0)
  })

  // The first part in the memory was taken, which is the newest one after the window has wrapped around: the older retry left the window
  // early, and the budget allowed one retry too many.
  it('takes a returned retry from the oldest part of the window', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0, reservePerSecond: 2, window: '1s' })
    const remaining = Math.ceil(clock.now() / 1000) * 1000 - clock.now()
    await clock.advance(remaining + 990)
    budget.withdraw()
    await clock.advance(10)
    budget.withdraw()
    budget.refund(0)
    expect(budget.left).toBe(1)
    await clock.advance(990)
    expect(budget.left).toBe(1)
    await clock.advance(10)
    expect(budget.left).toBe(2)
  })

  it('ignores calls and retries that have left the window', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 1, reservePerSecond: 1, window: '1s' })
    budget.deposit()
    expect([budget.withdraw(), budget.withdraw(), budget.withdraw()]).toEqual([true, true, false])
    await clock.advance(980)
    expect(budget.left).toBe(0)
    await clock.advance(20)
    expect(budget.left).toBe(1)
    await clock.advance(3_600_000)
    expect(budget.left).toBe(1)
  })

  it('throws RETRY_BUDGET_EXHAUSTED from spend', () => {
    const budget = new RetryBudget({ clock: fakeClock(), reservePerSecond: 0 })
    expect(() => budget.spend()).toThrow(expect.objectContaining({ code: 'RETRY_BUDGET_EXHAUSTED' }))
  })

  it('stops a call with its own unchanged error', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0, reservePerSecond: 1, window: '1s' })
    const error = new Error('down')
    const call = guard({ clock, budget, retry: { maxAttempts: 5, backoffType: 'immediate' } })
    await expect(call.run(() => Promise.reject(error))).rejects.toBe(error)
    expect(sessionOf(error)).toMatchObject({ stopped: 'budget_spent' })
    expect(sessionOf(error)?.attempts).toHaveLength(2)
  })

  it('is shared between guards', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0.5, reservePerSecond: 0 })
    const a = guard({ clock, budget })
    const b = guard({ clock, budget, retry: { backoffType: 'immediate', maxAttempts: 10 } })
    for (let i = 0; i < 7; i++) await a.run(() => 1)
    const error = await b.run(down).catch((e: unknown) => e)
    expect(sessionOf(error)?.attempts).toHaveLength(5)
    expect(budget.left).toBe(0)
  })

  it('is not charged for a call that stops for another reason', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, reservePerSecond: 1, window: '1s' })
    await guard({ clock, budget, retry: false })
      .run(down)
      .catch(() => {})
    await guard({ clock, budget })
      .run(() => Promise.reject(new TypeError('bug')))
      .catch(() => {})
    expect(budget.left).toBe(1 + 0.2 * 2)
  })

  it('is not charged for a retry that an open breaker prevents', async () => {
    const clock = fakeClock()
    const budget = new RetryBudget({ clock, ratio: 0, reservePerSecond: 1, window: '1s' })
    const call = guard({ clock, budget, breaker: { failureThreshold: 1 } })
    const error = await call.run(down).catch((e: unknown) => e)
    expect(sessionOf(error)).toMatchObject({ stopped: 'circuit_open', attempts: { length: 1 } })
    expect(budget.left).toBe(1)
  })

  it.each([
    [{ ratio: -1 }, 'ratio: expected a number from 0, got -1'],
    [{ reservePerSecond: Number.NaN }, 'reservePerSecond: expected a number from 0, got NaN'],
    [{ window: 0 }, /window: expected a duration above 0, .*, got 0$/],
  ])('rejects %j', (options, problem) => {
    expect(() => new RetryBudget(options)).toThrow(problem)
  })

  it.each([0.29, 0.57, 0.58])('loses no retry to rounding: %d of 100 calls', (ratio) => {
    const budget = new RetryBudget({ clock: fakeClock(), ratio, reservePerSecond: 0 })
    for (let i = 0; i < 100; i++) budget.deposit()
    let retries = 0
    while (budget.withdraw()) retries++
    expect(retries).toBe(Math.round(ratio * 100))
  })
})
