import { type Clock, systemClock } from '../clock.js'
import type { Duration } from '../duration.js'
import { HoldfastError } from '../errors.js'
import { makeInspectable } from '../inspect.js'
import {
  clockOption,
  defaultsOf,
  type Filled,
  nonNegativeNumber,
  type OptionProblem,
  type OptionSpecOf,
  parseOptions,
  positiveDuration,
  throwIfInvalid,
} from '../options.js'
import { reportOnce } from '../report.js'
import { isInstanceOfAnyCopy } from '../shared-registry.js'

/** Limits retries in proportion to calls. */
export interface RetryBudgetOptions {
  /** The number of retries allowed per call in the window. @defaultValue 0.2 */
  ratio?: number | undefined
  /** The number of retries allowed per second regardless of calls, so that a program with few calls can retry too. @defaultValue 10 */
  reservePerSecond?: number | undefined
  /** The duration of the window in which calls and retries are counted. @defaultValue 10000 */
  window?: Duration | undefined
  /** The clock. @defaultValue the system clock */
  clock?: Clock | undefined
}

const BUDGET_SPEC = {
  ratio: [0.2, nonNegativeNumber],
  reservePerSecond: [10, nonNegativeNumber],
  window: [10_000, positiveDuration],
  clock: [systemClock, clockOption],
} satisfies OptionSpecOf<RetryBudgetOptions>

/** The defaults of {@link RetryBudgetOptions}. */
export const BUDGET_DEFAULTS = defaultsOf(BUDGET_SPEC) as Filled<RetryBudgetOptions> & {
  readonly window: number
}

/** Grows with each change of the methods that a guard calls. */
const BUDGET_VERSION = 1

/** The window is divided into this many buckets; the oldest bucket is cleared as a whole. */
const BUCKET_COUNT = 100

/**
 * Limits retries, so that they do not multiply the load during an outage: within the window at most `ratio` retries per call
 * plus `reservePerSecond`. Several guards can share one budget.
 *
 * @example
 * ```ts
 * import { guard, RetryBudget, sessionOf } from 'holdfast'
 *
 * const budget = new RetryBudget({ ratio: 0, reservePerSecond: 0 })
 * const api = guard({ budget, retry: { backoffType: 'immediate' } })
 * const error = await api.run(() => { throw new Error('down') }).catch((e) => e)
 * sessionOf(error)?.stopped // => 'budget_spent'
 * sessionOf(error)?.attempts.length // => 1
 * ```
 */
export class RetryBudget {
  private readonly settings: Filled<RetryBudgetOptions> & { readonly window: number }
  /** Calls and retries by bucket. */
  private readonly calls = new Float64Array(BUCKET_COUNT)
  private readonly retries = new Float64Array(BUCKET_COUNT)
  /** The number of the latest bucket, which grows with time. */
  private currentBucket = -Infinity

  /** @internal The version of the methods that a guard calls, which can be that of another copy of this package. */
  get budgetVersion(): number {
    return BUDGET_VERSION
  }

  /** Makes `instanceof` true for budgets of another copy of the package, such as its CommonJS form. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'budgetVersion', value)
  }

  constructor(options: RetryBudgetOptions = {}) {
    const problems: OptionProblem[] = []
    this.settings = parseOptions('', options, BUDGET_DEFAULTS, BUDGET_SPEC, problems)
    throwIfInvalid('a retry budget', problems)
    makeInspectable(this, 'RetryBudget', ({ left }) => ({ left }))
  }

  /** How many retries are left now. It is below 0 if calls have left the window before the retries they allowed. */
  get left(): number {
    const { ratio, reservePerSecond, window } = this.settings
    this.advanceBuckets()
    const sum = (buckets: Float64Array) => buckets.reduce((total, count) => total + count)
    return ratio * sum(this.calls) + (reservePerSecond * window) / 1000 - sum(this.retries)
  }

  /** Counts a call. */
  deposit(): void {
    const at = this.advanceBuckets()
    this.calls[at] = (this.calls[at] as number) + 1
  }

  /** Withdraws a retry. Returns false if none is left. */
  withdraw(): boolean {
    // Rounding of binary fractions must not cost a retry: 0.29 of 100 calls are 29.
    if (this.left < 1 - 1e-9) return false
    const at = this.advanceBuckets()
    this.retries[at] = (this.retries[at] as number) + 1
    return true
  }

  /**
   * @internal Returns a retry that was withdrawn `age` milliseconds ago and not made. After the window it does not count anyway. It is
   * taken from the oldest bucket that has one, so that the others do not leave the window too early.
   */
  refund(age: number): void {
    this.advanceBuckets()
    if (age >= this.settings.window) return
    for (let bucket = this.currentBucket - BUCKET_COUNT + 1; bucket <= this.currentBucket; bucket++) {
      const at = indexOfBucket(bucket)
      const count = this.retries[at] as number
      if (count === 0) continue
      this.retries[at] = count - 1
      return
    }
  }

  /**
   * Withdraws a retry, for code that uses a budget without a guard.
   *
   * @throws RETRY_BUDGET_EXHAUSTED if none is left
   */
  spend(): void {
    if (!this.withdraw())
      throw new HoldfastError(
        'RETRY_BUDGET_EXHAUSTED',
        'the retry budget is exhausted; retry after further calls',
      )
  }

  /** Clears the buckets that have left the window, and returns the index of the current bucket. */
  private advanceBuckets(): number {
    const { clock, window } = this.settings
    const bucket = Math.floor((clock.now() / window) * BUCKET_COUNT)
    for (let next = Math.max(this.currentBucket, bucket - BUCKET_COUNT) + 1; next <= bucket; next++) {
      this.calls[indexOfBucket(next)] = 0
      this.retries[indexOfBucket(next)] = 0
    }
    this.currentBucket = Math.max(this.currentBucket, bucket)
    return indexOfBucket(this.currentBucket)
  }
}

const indexOfBucket = (bucket: number): number => ((bucket % BUCKET_COUNT) + BUCKET_COUNT) % BUCKET_COUNT

/** Uses a budget. A user's budget that throws is reported once. */
function useBudget<R>(budget: RetryBudget, use: () => R): R | undefined {
  try {
    return use()
  } catch (error) {
    reportOnce('the retry budget', budget, error)
  }
}

/** Counts a call in the budget. */
export function countCall(budget: RetryBudget): void {
  useBudget(budget, () => budget.deposit())
}

/** Withdraws a retry from the budget. A user's budget that throws allows no retry. */
export function withdrawRetry(budget: RetryBudget): boolean {
  return useBudget(budget, () => budget.withdraw()) ?? false
}

/** Returns a retry that was withdrawn `age` milliseconds ago and not made. */
export function returnRetry(budget: RetryBudget, age: number): void {
  useBudget(budget, () => budget.refund?.(age)) // a user's budget can have only `deposit` and `withdraw`
}
