import type { Holdfast } from '@holdfast/runtime'
import { BORROW, type RedisScript } from '../../../fleet/src/lua/scripts.js'
import type { FleetRetryBudget } from '../../../fleet/src/retry-budget.js'
import { Violation } from '../engine/violation.js'
import { BudgetModel as LocalBudgetModel } from '../policies/budget-model.js'
import type { Process, SimulatedNode } from '../process/simulated-node.js'
import type { Operation } from '../scenario/scenario.js'

/** The operation whose policy has a retry budget that all nodes share. */
export const BUDGET_OPERATION: Operation = 'search'

/** The budget of a policy that all nodes share: small, so that it is spent while its service is down. */
export const SHARED_BUDGET = { ratio: 0.3, reservePerSecond: 0.5, window: 20_000, shared: true }

/** How often per window a node requests retries again after it got fewer than it wanted. */
const REQUESTS_PER_WINDOW = 10

/** A request of a budget has ended after this time: the connection gives up a command after half a second. */
const MAX_REQUEST_MS = 10_000

type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>

/** The budget with its private parts. */
export interface WatchedBudget extends Pick<FleetRetryBudget, 'withdraw' | 'refund' | 'deposit'> {
  readonly isDisconnected: boolean
  readonly isBorrowing: boolean
  readonly isRejected: boolean
  readonly isFleetExhausted: boolean
  readonly borrowed: number
  readonly unreported: number
  readonly requestedAt: number
  readonly borrowedAt: number
  readonly sliceSize: number
  readonly redis: { readonly isUp: boolean; run: RunScript }
}

/** What a node can know of the fleet's budget, from the replies of Redis. */
class BudgetUse {
  readonly budget: WatchedBudget
  /** The retries of the node alone, while Redis is not available. */
  private readonly local: LocalBudgetModel
  private readonly window: number
  private readonly watchedAt: number
  private readonly now: () => number
  /** Requests under way. */
  private requestCount = 0
  /** Whether the request of the constructor has ended, whose reply the model does not see. */
  private isStarted = false
  /** Lent retries that were not taken; below 0 if some were taken on credit. */
  private balance = 0
  /** Calls that were not reported to Redis, or whose report failed. */
  private unreported = 0
  private requestedAt = 0
  private lentAt = 0
  /** Whether Redis lent less than was wanted last. */
  private isShort = false
  /** Whether the last request failed while Redis was available. */
  private isRejected = false

  constructor(budget: WatchedBudget, settings: typeof SHARED_BUDGET, now: () => number) {
    this.budget = budget
    this.local = new LocalBudgetModel(settings)
    this.window = settings.window
    this.now = now
    this.watchedAt = now()
  }

  /** Reads what the first request, which began before the model, has changed. @throws Violation if it does not end */
  start(): void {
    const { budget } = this
    if (this.isStarted) return
    if (budget.isBorrowing && this.now() - this.watchedAt < MAX_REQUEST_MS) return
    if (budget.isBorrowing) this.fail(`has a request that has not ended in ${MAX_REQUEST_MS} ms`)
    this.isStarted = true
    this.balance = budget.borrowed
    this.unreported = budget.unreported
    this.requestedAt = budget.requestedAt
    this.lentAt = budget.borrowedAt
    this.isShort = budget.isFleetExhausted
    this.isRejected = budget.isRejected
  }

  /** A request begins. Returns functions for its end. @throws Violation if it has a wrong number of calls or retries */
  onRequest([calls = 0, wanted = 0]: readonly (string | number)[]) {
    if (!this.budget.isBorrowing) this.start()
    const now = this.now()
    const unreported = this.unreported
    this.unreported = 0
    this.requestCount++
    const expectedWanted = Math.max(0, this.budget.sliceSize - this.balance)
    // Calls of more than one window are reported as those of the last window.
    const expectedCalls = Math.round(unreported * Math.min(1, this.window / (now - this.lentAt)))
    const onEnd = () => {
      this.requestCount--
      this.requestedAt = this.now()
    }
    return {
      onLent: (lent: number) => {
        this.balance += Math.min(lent, Number(wanted))
        this.isShort = lent < Number(wanted)
        this.isRejected = false
        this.lentAt = this.now()
        onEnd()
      },
      onFailed: () => {
        this.unreported += unreported
        this.isRejected = this.budget.redis.isUp
        onEnd()
      },
      check: () => {
        if (wanted !== expectedWanted) this.fail(`requests ${wanted} retries, expected ${expectedWanted}`)
        if (calls !== expectedCalls) this.fail(`reports ${calls} calls, expected ${expectedCalls}`)
      },
    }
  }

  onDeposit(): void {
    this.unreported++
    this.local.countCall(this.now())
  }

  /** A retry was taken or denied. Returns whether the fleet was asked. @throws Violation without a reason */
  onWithdrawn(isTaken: boolean): boolean {
    const { budget } = this
    const now = this.now()
    // The process learns of the end of a request some promises later than the model.
    const isEnding = budget.isBorrowing && this.requestCount === 0 && this.requestedAt === now
    if (!this.isStarted || isEnding) {
      if (isTaken && budget.isDisconnected) this.local.withdraw(now)
      else if (isTaken) this.balance--
      return !budget.isDisconnected
    }
    const { isUp } = budget.redis
    const isAlone = !isUp || this.isRejected
    if (budget.isDisconnected !== isAlone)
      this.fail(
        `decides ${budget.isDisconnected ? 'alone' : 'with the fleet'}, and Redis is ${isUp ? 'available' : 'not available'}`,
      )
    const isDue =
      !(this.isShort || this.isRejected) || now - this.requestedAt > this.window / REQUESTS_PER_WINDOW
    if (isUp && isDue && this.balance < budget.sliceSize / 2 && this.requestCount === 0)
      this.fail(`has ${this.balance} retries left, and does not request more`)
    if (isAlone) {
      const expected = this.local.withdraw(now)
      if (isTaken !== expected) this.fail(`${describe(isTaken)} a retry without Redis, expected the contrary`)
      return false
    }
    // Retries that were lent in an earlier window have expired. Those on credit remain owed.
    if (now - this.lentAt > this.window) this.balance = Math.min(this.balance, 0)
    const { balance, isShort } = this
    const isAvailable = balance > 0 || (!isShort && balance > -budget.sliceSize)
    if (isTaken) this.balance--
    if (isTaken !== isAvailable)
      this.fail(
        `${describe(isTaken)} a retry with ${balance} left, after Redis lent ${isShort ? 'less than' : 'what'} it wanted`,
      )
    return true
  }

  onRefunded(age: number): void {
    if (age >= this.window) return
    if (this.budget.isDisconnected) this.local.refund(this.now())
    else this.balance++
  }

  private fail(problem: string): never {
    throw new Violation('budgets', problem)
  }
}

const describe = (isTaken: boolean): string => (isTaken ? 'took' : 'denied')

/**
 * The promises about a retry budget of the fleet. While Redis is available, a node takes the retries that Redis has lent to it, and at
 * most one slice more on credit. It denies a retry only with a reason: the fleet had none left when the node asked last, or the credit
 * is used while a request is under way. Whatever failed, the next retry is followed by another request. Each call is reported once.
 * Without Redis the node has a budget of its own.
 */
export class BudgetModel {
  takenCount = 0
  deniedCount = 0
  private readonly uses = new WeakMap<Process, BudgetUse>()
  private readonly check: (fn: () => void) => void

  constructor(check: (fn: () => void) => void) {
    this.check = check
  }

  onStarted(process: Process, runtime: Holdfast): void {
    // A guard creates the budget of its policy when its parts are first read.
    void runtime.guard(BUDGET_OPERATION).breaker
    const { container } = runtime as unknown as {
      container: { policyLimits: { budgets: ReadonlyMap<string, { budget: WatchedBudget }> } }
    }
    const budget = container.policyLimits.budgets.get(BUDGET_OPERATION)?.budget
    if (budget !== undefined) this.watch(process, budget)
  }

  /** Follows a budget with the settings of {@link SHARED_BUDGET} from now on. */
  watch(process: Pick<Process, 'name' | 'isAlive' | 'clock'>, budget: WatchedBudget): void {
    const use = new BudgetUse(budget, SHARED_BUDGET, () => process.clock.now())
    this.uses.set(process as Process, use)
    const check = (fn: () => void) => {
      if (process.isAlive) this.check(() => withName(process.name, fn))
    }
    const { redis } = budget
    const run = redis.run.bind(redis)
    redis.run = async (script, keys, args) => {
      if (script !== BORROW) return run(script, keys, args)
      let request: ReturnType<BudgetUse['onRequest']> | undefined
      check(() => {
        request = use.onRequest(args)
        request.check()
      })
      try {
        const reply = await run(script, keys, args)
        request?.onLent(Number((reply as [number, number])[0]))
        return reply
      } catch (error) {
        request?.onFailed()
        throw error
      }
    }
    const deposit = budget.deposit.bind(budget)
    budget.deposit = () => {
      use.onDeposit()
      deposit()
    }
    const withdraw = budget.withdraw.bind(budget)
    budget.withdraw = () => {
      check(() => use.start())
      const isTaken = withdraw()
      check(() => {
        if (!use.onWithdrawn(isTaken)) return
        if (isTaken) this.takenCount++
        else this.deniedCount++
      })
      return isTaken
    }
    const refund = budget.refund.bind(budget)
    budget.refund = (age) => {
      use.onRefunded(age)
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

/** Adds the name of the process to a violation. */
function withName(name: string, fn: () => void): void {
  try {
    fn()
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    throw new Violation('budgets', `${name} ${error.message.slice('budgets: '.length)}`)
  }
}
