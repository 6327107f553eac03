import type { RetryPolicy } from '@holdfast/records'
import { type Clock, RetryBudget, type RetryBudgetOptions } from 'holdfast'
import { Bulkhead } from 'holdfast/internal'

/** The limits of a policy that all its calls share. */
export interface SharedLimits {
  readonly bulkhead: Bulkhead | undefined
  readonly budget: RetryBudget | undefined
}

/** Creates a budget that the whole fleet shares; undefined where there is no fleet. */
export type CreateSharedBudget = (
  id: string,
  options: RetryBudgetOptions & { window: number },
) => RetryBudget | undefined

/**
 * The bulkheads and budgets of policies. Each keeps its counts over reloads while its settings do not change. A policy that
 * is derived from another one, `owner`, uses the limits of `owner`.
 */
export class PolicyLimits {
  private readonly clock: Clock
  private readonly createSharedBudget: CreateSharedBudget
  private readonly bulkheads = new Map<string, { key: string; bulkhead: Bulkhead }>()
  private readonly budgets = new Map<string, { key: string; budget: RetryBudget }>()

  constructor(clock: Clock, shared: CreateSharedBudget = () => undefined) {
    this.clock = clock
    this.createSharedBudget = shared
  }

  /** `place` is the scope of the overrides that set the bulkhead, if there are any. Each scope has its own bulkhead. */
  limitsFor(record: RetryPolicy, owner: RetryPolicy, bulkheadScope: string): SharedLimits {
    return { bulkhead: this.bulkhead(record, owner, bulkheadScope), budget: this.budget(record, owner) }
  }

  private bulkhead(record: RetryPolicy, owner: RetryPolicy, bulkheadScope: string): Bulkhead | undefined {
    const { id: policyId, bulkhead } = owner.bulkhead ? owner : record
    if (!bulkhead) return undefined
    const id = JSON.stringify([policyId, bulkheadScope])
    const key = JSON.stringify(bulkhead)
    const existing = this.bulkheads.get(id)
    if (existing?.key === key) return existing.bulkhead
    const created = new Bulkhead(bulkhead.limit, bulkhead.queue ?? 0, bulkhead.maxWait)
    this.bulkheads.set(id, { key, bulkhead: created })
    return created
  }

  private budget(record: RetryPolicy, owner: RetryPolicy): RetryBudget | undefined {
    const { id, budget } = owner.budget ? owner : record
    if (!budget) return undefined
    const key = JSON.stringify(budget)
    const existing = this.budgets.get(id)
    if (existing?.key === key) return existing.budget
    const { ratio, reservePerSecond, window, shared } = budget
    const options = { ratio, reservePerSecond, window }
    const created =
      (shared && this.createSharedBudget(id, options)) || new RetryBudget({ ...options, clock: this.clock })
    this.budgets.set(id, { key, budget: created })
    return created
  }

  /** The remaining retry budget of each policy. */
  *budgetsLeft(): Iterable<readonly [policyId: string, left: number]> {
    for (const [id, { budget }] of this.budgets) yield [id, budget.left]
  }
}
