import { type Clock, systemClock } from '../clock.js'
import type { Duration } from '../duration.js'
import { HoldfastError } from '../errors.js'
import { formatInstance, INSPECT, type Inspect } from '../inspect.js'
import {
  clockOption,
  defaultsOf,
  type Filled,
  nonNegativeNumber,
  type OptionSpecOf,
  parseOptions,
  positiveDuration,
  throwIfInvalid,
} from '../options.js'
import { reportOnce } from '../report.js'

/** How much retrying there may be. */
export interface RetryBudgetOptions {
  /** Retries allowed per call made in the window. @defaultValue 0.2 */
  ratio?: number | undefined
  /** Retries allowed per second whatever the calls, so that a quiet program may retry too. @defaultValue 10 */
  reservePerSecond?: number | undefined
  /** How far back calls and retries are counted. @defaultValue 10000 */
  window?: Duration | undefined
  /** Where it takes its time from. @defaultValue the machine's clock */
  clock?: Clock | undefined
}

const BUDGET_SPEC = {
  ratio: [0.2, nonNegativeNumber],
  reservePerSecond: [10, nonNegativeNumber],
  window: [10_000, positiveDuration],
  clock: [systemClock, clockOption],
} satisfies OptionSpecOf<RetryBudgetOptions>

/** The window is kept in this many parts, the oldest of which is forgotten as a whole. */
const BUCKET_COUNT = 100

/**
 * Keeps retries from multiplying an outage: over the window there are at most `ratio` retries per call and
 * `reservePerSecond` besides. Guards may share one.
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
  /** Calls and retries in each part of the window, and the number of the part that is being written. */
  private readonly calls = new Float64Array(BUCKET_COUNT)
  private readonly retries = new Float64Array(BUCKET_COUNT)
  private currentBucket = Number.NEGATIVE_INFINITY

  constructor(options: RetryBudgetOptions = {}) {
    const problems: string[] = []
    this.settings = parseOptions(
      '',
      options,
      defaultsOf(BUDGET_SPEC) as RetryBudget['settings'],
      BUDGET_SPEC,
      problems,
    )
    throwIfInvalid('a retry budget', problems)
  }

  /** How many retries are left now; below 0 only where calls were forgotten since. */
  get left(): number {
    const { ratio, reservePerSecond, window } = this.settings
    this.bucketIndex()
    const sum = (parts: Float64Array) => parts.reduce((total, part) => total + part)
    return ratio * sum(this.calls) + (reservePerSecond * window) / 1000 - sum(this.retries)
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return formatInstance('RetryBudget', { left: this.left }, options, inspect)
  }

  /** Counts a call. */
  deposit(): void {
    const at = this.bucketIndex()
    this.calls[at] = (this.calls[at] as number) + 1
  }

  /** Takes a retry, if there is one left. */
  withdraw(): boolean {
    // Binary fractions must not cost a retry: 0.29 of 100 calls are 29.
    if (this.left < 1 - 1e-9) return false
    const at = this.bucketIndex()
    this.retries[at] = (this.retries[at] as number) + 1
    return true
  }

  /**
   * Takes a retry for those who use a budget on its own.
   *
   * @throws RETRY_BUDGET_EXHAUSTED where there is none left
   */
  spend(): void {
    if (!this.withdraw())
      throw new HoldfastError(
        'RETRY_BUDGET_EXHAUSTED',
        'the retry budget is spent; retry when more calls have been made',
      )
  }

  /** Where the present part is kept, after forgetting those that have left the window. */
  private bucketIndex(): number {
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

/** Counts a call in the budget. A user's budget that throws is reported once. */
export function countCall(budget: RetryBudget): void {
  try {
    budget.deposit()
  } catch (error) {
    reportOnce('the retry budget', budget, error)
  }
}

/** Withdraws a retry from the budget. A user's budget that throws is reported once and allows no retry. */
export function withdrawRetry(budget: RetryBudget): boolean {
  try {
    return budget.withdraw()
  } catch (error) {
    reportOnce('the retry budget', budget, error)
    return false
  }
}
