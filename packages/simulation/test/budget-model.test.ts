import { describe, expect, it } from 'vitest'
import { BORROW } from '../../fleet/src/lua/scripts.js'
import { BudgetModel } from '../src/invariants/budget-model.js'

/** A budget that grants every retry. */
const createBudget = () => ({
  isDisconnected: false,
  isBorrowing: false,
  sliceSize: 5,
  borrowed: 0,
  redis: { run: async () => [2, 0] },
  deposit: () => {},
  withdraw: () => true,
  refund: () => {},
})

describe('the model of a shared retry budget', () => {
  it('accepts what was lent and one slice more, and reports the next retry', async () => {
    const model = new BudgetModel((fn) => fn())
    const budget = createBudget()
    model.watch({ name: 'n0.1', isAlive: true }, budget)
    await (budget.redis as { run: (...args: unknown[]) => Promise<unknown> }).run(BORROW, [], [])
    for (let count = 0; count < 7; count++) expect(budget.withdraw()).toBe(true)
    expect(() => budget.withdraw()).toThrow('has taken 8 retries, and Redis has lent 2')
  })

  it('does not count retries without Redis', () => {
    const model = new BudgetModel((fn) => fn())
    const budget = { ...createBudget(), isDisconnected: true }
    model.watch({ name: 'n0.1', isAlive: true }, budget)
    for (let count = 0; count < 20; count++) expect(budget.withdraw()).toBe(true)
  })
})
