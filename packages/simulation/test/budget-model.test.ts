import { beforeEach, describe, expect, it } from 'vitest'
import { BORROW } from '../../fleet/src/lua/scripts.js'
import { BudgetModel, type WatchedBudget } from '../src/invariants/budget-model.js'
import type { Process } from '../src/process/simulated-node.js'

const clock = { time: 0, now: () => clock.time }
const PROCESS = { name: 'n0.1', isAlive: true, clock } as unknown as Process

/** A budget without retries. Its slice has 5. */
const createBudget = (isGranted: () => boolean, lent: () => number) => ({
  isDisconnected: false,
  isBorrowing: false,
  redis: { isUp: true, run: async (): Promise<unknown> => [lent(), 0] },
  deposit: () => {},
  withdraw: isGranted,
  refund: () => {},
})

describe('the model of a shared retry budget', () => {
  let isGranted = true
  /** What Redis lends. */
  let lent = 2
  let budget: WatchedBudget
  /** Requests retries, as the budget does. */
  const borrow = (calls: number, wanted: number) => budget.redis.run(BORROW, [], [calls, wanted])

  beforeEach(() => {
    clock.time = 0
    isGranted = true
    lent = 2
    budget = createBudget(
      () => isGranted,
      () => lent,
    )
    new BudgetModel((fn) => fn()).watch(PROCESS, budget)
  })

  it('accepts what was lent, and reports a retry that the fleet did not have', async () => {
    await borrow(0, 5)
    for (let count = 0; count < 2; count++) expect(budget.withdraw()).toBe(true)
    expect(() => budget.withdraw()).toThrow('took a retry with 0 left, after Redis lent less than it wanted')
  })

  it('accepts one slice on credit while a request is under way, and no retry more', () => {
    void borrow(0, 5)
    for (let count = 0; count < 5; count++) expect(budget.withdraw()).toBe(true)
    expect(() => budget.withdraw()).toThrow('took a retry with -5 left')
  })

  it('reports a retry that was denied without a reason', async () => {
    lent = 5
    await borrow(0, 5)
    isGranted = false
    expect(() => budget.withdraw()).toThrow('n0.1 denied a retry with 5 left')
  })

  it('reports a node that does not ask again after a request that failed', async () => {
    budget = createBudget(
      () => isGranted,
      () => lent,
    )
    const { redis } = budget
    redis.run = () => Promise.reject(new Error('the connection was lost'))
    new BudgetModel((fn) => fn()).watch(PROCESS, budget)
    ;(budget.redis as { isUp: boolean }).isUp = false
    await borrow(0, 5).catch(() => {})
    ;(budget.redis as { isUp: boolean }).isUp = true
    expect(() => budget.withdraw()).toThrow('has 0 retries left, and does not request more')
  })

  it('requires that each call is reported once, also if a request fails', async () => {
    budget = createBudget(
      () => isGranted,
      () => lent,
    )
    const { redis } = budget
    redis.run = () => Promise.reject(new Error('refused'))
    new BudgetModel((fn) => fn()).watch(PROCESS, budget)
    budget.deposit()
    budget.deposit()
    await borrow(2, 5).catch(() => {})
    budget.deposit()
    await expect(borrow(1, 5)).rejects.toThrow('reports 1 calls, expected 3')
  })

  it('reports a node that requests another number of retries than a slice', async () => {
    await expect(borrow(0, 6)).rejects.toThrow('requests 6 retries, expected 5')
  })

  it('reports a request that does not end', () => {
    budget = createBudget(
      () => isGranted,
      () => lent,
    )
    budget.redis.run = () => new Promise(() => {})
    new BudgetModel((fn) => fn()).watch(PROCESS, budget)
    void borrow(0, 5)
    clock.time = 9000
    budget.withdraw()
    clock.time = 11_000
    expect(() => budget.withdraw()).toThrow('has a request that has not ended in 10000 ms')
  })

  it('reports a node that decides alone although Redis is available', () => {
    ;(budget as { isDisconnected: boolean }).isDisconnected = true
    expect(() => budget.withdraw()).toThrow('decides alone, and Redis is available')
  })
})
