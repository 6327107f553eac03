import type { Holdfast } from '@holdfast/runtime'
import { BORROW, type RedisScript } from '../../../fleet/src/lua/scripts.js'
import type { FleetRetryBudget } from '../../../fleet/src/retry-budget.js'
import { Violation } from '../engine/violation.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import type { Operation } from '../scenario/scenario.js'

/** The operation whose policy has a retry budget that all nodes share. */
export const BUDGET_OPERATION: Operation = 'search'

/** The budget of a policy that all nodes share: small, so that it is spent while its service is down. */
export const SHARED_BUDGET = { ratio: 0.3, reservePerSecond: 0.5, window: 20_000, shared: true }

/** The budget with its private parts. */
interface Budget extends Pick<FleetRetryBudget, 'withdraw' | 'refund' | 'deposit'> {
  readonly isDisconnected: boolean
  readonly isBorrowing: boolean
  readonly sliceSize: number
  readonly redis: {
    run(script: RedisScript, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>
  }
}

interface BudgetUse {
  readonly budget: Budget
  /** Retries that were taken while Redis was available, without those that were returned. */
  taken: number
  /** Retries that Redis has lent, as far as the node has got the replies. */
  lent: number
}

/**
 * The promise about a retry budget of the fleet: while Redis is available, a node takes only retries that Redis has lent to it, and at
 * most one slice more on credit. A request for retries that fails is followed by another one.
 */
export class BudgetModel {
  takenCount = 0
  private readonly uses = new WeakMap<Process, BudgetUse>()
  private readonly check: (fn: () => void) => void

  constructor(check: (fn: () => void) => void) {
    this.check = check
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const { container } = runtime as unknown as {
      container: { policyLimits: { budgets: ReadonlyMap<string, { budget: Budget }> } }
    }
    const budget = container.policyLimits.budgets.get(BUDGET_OPERATION)?.budget
    if (budget !== undefined) this.watch(process, budget)
  }

  /** Follows a budget from now on. */
  watch(process: Pick<Process, 'name' | 'isAlive'>, budget: Budget): void {
    // Retries that were lent before.
    const { borrowed } = budget as unknown as { borrowed: number }
    const use: BudgetUse = { budget, taken: 0, lent: borrowed }
    this.uses.set(process as Process, use)
    const { redis } = budget
    const run = redis.run.bind(redis)
    redis.run = async (script, keys, args) => {
      const reply = await run(script, keys, args)
      if (script === BORROW) use.lent += Number((reply as [number, number])[0])
      return reply
    }
    const withdraw = budget.withdraw.bind(budget)
    budget.withdraw = () => {
      const isTaken = withdraw()
      if (!isTaken || budget.isDisconnected) return isTaken
      this.takenCount++
      use.taken++
      if (process.isAlive && use.taken > use.lent + budget.sliceSize)
        this.check(() => {
          throw new Violation(
            'budgets',
            `${process.name} has taken ${use.taken} retries, and Redis has lent ${use.lent}: expected at most ${budget.sliceSize} more`,
          )
        })
      return isTaken
    }
    const refund = budget.refund.bind(budget)
    budget.refund = (age) => {
      if (!budget.isDisconnected) use.taken--
      refund(age)
    }
  }

  /** Checks at rest that no request for retries has remained. */
  checkAtRest(nodes: readonly SimulatedNode[]): void {
    for (const { name, process } of nodes)
      if (process !== undefined && this.uses.get(process)?.budget.isBorrowing)
        throw new Violation('budgets', `${name} has a request for retries at rest that has not ended`)
  }
}
