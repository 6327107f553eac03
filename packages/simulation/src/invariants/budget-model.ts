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

/** A slice is a tenth of the reserve of a window, 5 to 100 retries (docs/fleet.md). */
const SLICE_SHARE = 0.1
const MIN_SLICE = 5
const MAX_SLICE = 100

const sliceOf = ({ reservePerSecond, window }: typeof SHARED_BUDGET): number => {
  const reserve = (reservePerSecond * window) / 1000
  return Math.min(MAX_SLICE, Math.max(MIN_SLICE, Math.round(SLICE_SHARE * reserve)))
}

/** How often per window a node requests retries again after it got fewer than it wanted. */
const REQUESTS_PER_WINDOW = 10

/** A request of a budget has ended after this time: the connection gives up a command after half a second. */
const MAX_REQUEST_MS = 10_000

type WatchedProcess = Pick<Process, 'name' | 'isAlive' | 'clock'>

type RunScript = (
  script: RedisScript,
  keys: readonly string[],
  args: readonly (string | number)[],
) => Promise<unknown>

/** The connection of a budget. */
interface BudgetRedis {
  readonly isUp: boolean
  run: RunScript
}

/** The budget with its private parts: whether it decides alone, and whether a request is under way. The model computes the rest. */
export interface WatchedBudget extends Pick<FleetRetryBudget, 'withdraw' | 'refund' | 'deposit'> {
  readonly isDisconnected: boolean
  readonly isBorrowing: boolean
  readonly redis: BudgetRedis
}

/** What a node can know of the fleet's budget, from the replies of Redis. */
class BudgetUse {
  private readonly redis: BudgetRedis
  /** Undefined until the budget has been created. Its first request is a part of that. */
  budget: WatchedBudget | undefined
  private readonly sliceSize: number
  /** The retries of the node alone, while Redis is not available. */
  private readonly local: LocalBudgetModel
  private readonly window: number
  private readonly now: () => number
  /** Requests under way, and when the last one began. */
  private requestCount = 0
  private requestBeganAt = 0
  /** Lent retries that were not taken; below 0 if some were taken on credit. */
  private balance = 0
  /** Calls that were not reported to Redis, or whose report failed. */
  private unreported = 0
  private requestedAt: number
  private lentAt: number
  /** Whether Redis lent less than was wanted last. */
  private isShort = false
  /** Whether the last request failed while Redis was available. */
  private isRejected = false

  constructor(redis: BudgetRedis, settings: typeof SHARED_BUDGET, now: () => number) {
    this.redis = redis
    this.local = new LocalBudgetModel(settings)
    this.sliceSize = sliceOf(settings)
    this.window = settings.window
    this.now = now
    this.requestedAt = this.lentAt = now()
  }

  /** A request begins. Returns functions for its end. @throws Violation if it has a wrong number of calls or retries */
  onRequest([calls = 0, wanted = 0]: readonly (string | number)[]) {
    const now = this.now()
    const unreported = this.unreported
    this.unreported = 0
    this.requestCount++
    this.requestBeganAt = now
    const expectedWanted = Math.max(0, this.sliceSize - this.balance)
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
        this.isRejected = this.redis.isUp
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
  onWithdrawn({ isBorrowing, isDisconnected }: WatchedBudget, isTaken: boolean): boolean {
    const now = this.now()
    this.checkEnds()
    // The process learns of the end of a request some promises later than the model.
    if (isBorrowing && this.requestCount === 0 && this.requestedAt === now) {
      if (isTaken && isDisconnected) this.local.withdraw(now)
      else if (isTaken) this.balance--
      return !isDisconnected
    }
    const { isUp } = this.redis
    const isAlone = !isUp || this.isRejected
    if (isDisconnected !== isAlone)
      this.fail(
        `decides ${isDisconnected ? 'alone' : 'with the fleet'}, and Redis is ${isUp ? 'available' : 'not available'}`,
      )
    const isDue =
      !(this.isShort || this.isRejected) || now - this.requestedAt > this.window / REQUESTS_PER_WINDOW
    if (isUp && isDue && this.balance < this.sliceSize / 2 && this.requestCount === 0)
      this.fail(`has ${this.balance} retries left, and does not request more`)
    if (isAlone) {
      const expected = this.local.withdraw(now)
      if (isTaken !== expected) this.fail(`${describe(isTaken)} a retry without Redis, expected the contrary`)
      return false
    }
    // Retries that were lent in an earlier window have expired. Those on credit remain owed.
    if (now - this.lentAt > this.window) this.balance = Math.min(this.balance, 0)
    const { balance, isShort } = this
    const isAvailable = balance > 0 || (!isShort && balance > -this.sliceSize)
    if (isTaken) this.balance--
    if (isTaken !== isAvailable)
      this.fail(
        `${describe(isTaken)} a retry with ${balance} left, after Redis lent ${isShort ? 'less than' : 'what'} it wanted`,
      )
    return true
  }

  /** Checks that a request is not under way for longer than it may. @throws Violation if it is */
  checkEnds(): void {
    if (this.requestCount > 0 && this.now() - this.requestBeganAt > MAX_REQUEST_MS)
      this.fail(`has a request that has not ended in ${MAX_REQUEST_MS} ms`)
  }

  onRefunded(age: number): void {
    if (age >= this.window) return
    if (this.budget?.isDisconnected) this.local.refund(this.now())
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
    const { container, fleet } = runtime as unknown as {
      container: { policyLimits: { budgets: ReadonlyMap<string, { budget: WatchedBudget }> } }
      fleet?: { coordinator: { redis: BudgetRedis } }
    }
    if (fleet === undefined) return
    const { budgets } = container.policyLimits
    if (budgets.has(BUDGET_OPERATION)) throw new Error('the budget was created before its model')
    const use = this.watchRequests(process, fleet.coordinator.redis)
    // A guard creates the budget of its policy when its parts are first read. It requests the first slice at once.
    void runtime.guard(BUDGET_OPERATION).breaker
    const budget = budgets.get(BUDGET_OPERATION)?.budget
    if (budget === undefined) throw new Error(`${BUDGET_OPERATION} has no budget`)
    this.watchUse(process, use, budget)
  }

  /** Follows a new budget with the settings of {@link SHARED_BUDGET}, which has made no request. */
  watch(process: WatchedProcess, budget: WatchedBudget): void {
    this.watchUse(process, this.watchRequests(process, budget.redis), budget)
  }

  /** Runs a check of a process that lives, and adds its name to a violation. */
  private checkProcess({ name, isAlive }: WatchedProcess, fn: () => void): void {
    if (isAlive) this.check(() => withName(name, fn))
  }

  /** Follows the requests of a budget that does not exist yet. */
  private watchRequests(process: WatchedProcess, redis: BudgetRedis): BudgetUse {
    const use = new BudgetUse(redis, SHARED_BUDGET, () => process.clock.now())
    this.uses.set(process as Process, use)
    const check = (fn: () => void) => this.checkProcess(process, fn)
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
    return use
  }

  /** Follows the calls and the retries of a budget. */
  private watchUse(process: WatchedProcess, use: BudgetUse, budget: WatchedBudget): void {
    use.budget = budget
    const check = (fn: () => void) => this.checkProcess(process, fn)
    const deposit = budget.deposit.bind(budget)
    budget.deposit = () => {
      use.onDeposit()
      deposit()
    }
    const withdraw = budget.withdraw.bind(budget)
    budget.withdraw = () => {
      const isTaken = withdraw()
      check(() => {
        if (!use.onWithdrawn(budget, isTaken)) return
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
      if (process !== undefined && this.uses.get(process)?.budget?.isBorrowing)
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
