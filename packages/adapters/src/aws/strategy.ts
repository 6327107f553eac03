import type { GuardOptions, RetryOptions } from 'holdfast'
import {
  type Admission,
  countCall,
  GuardExecutor,
  isRetryable,
  nextDelay,
  type OptionProblem,
  type OptionRule,
  type OptionSpecOf,
  parseGuardOptions,
  parseOptions,
  returnRetry,
  systemClock,
  throwIfInvalid,
  withdrawRetry,
} from 'holdfast/internal'
import { classifySdkError } from './classify.js'
import type { AwsErrorInfo, AwsRetryStrategy, AwsRetryToken } from './types.js'

/** Options of {@link createRetryStrategy}: the options of a guard that apply to the decision whether an attempt is made. */
export interface AwsRetryOptions
  extends Pick<GuardOptions, 'name' | 'breaker' | 'budget' | 'clock' | 'random'> {
  /** When and how often an operation is retried; false: never. @defaultValue 3 attempts, exponential from 1 s, cap 30 s */
  retry?: Omit<RetryOptions, 'beforeRetry' | 'nested'> | false | undefined
}

/**
 * Creates a retry strategy for clients of the AWS SDK for JavaScript v3: the SDK sends the attempts and waits for the strategy,
 * which decides by a retry policy, a breaker and a retry budget of `holdfast`. The SDK's error type decides whether an error is
 * throttling or transient; throttling does not count for the breaker. The clients that share a strategy share its breaker.
 *
 * @throws INVALID_OPTIONS that lists all problems of the options
 *
 * @example
 * ```ts
 * import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs'
 * import { createRetryStrategy } from '@holdfast/adapters/aws'
 *
 * const client = new SQSClient({
 *   region: 'eu-central-1',
 *   endpoint: 'http://127.0.0.1:1',
 *   credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
 *   retryStrategy: createRetryStrategy({
 *     retry: { maxAttempts: 4, backoffType: 'immediate' },
 *     breaker: { failureThreshold: 4 },
 *   }),
 * })
 * const error = await client.send(new ListQueuesCommand({})).catch((thrown) => thrown)
 * error.$metadata.attempts // => 4
 * await client.send(new ListQueuesCommand({})) // throws CIRCUIT_OPEN
 * ```
 */
export function createRetryStrategy(options: AwsRetryOptions = {}): AwsRetryStrategy {
  const problems: OptionProblem[] = []
  parseOptions('', options, {}, OPTIONS, problems)
  throwIfInvalid('a retry strategy', problems)
  return new PolicyStrategy(new GuardExecutor(parseGuardOptions(options)))
}

/** The values are checked by the guard. */
const anything: OptionRule = ['anything', () => true]
const OPTIONS = {
  name: [undefined, anything],
  breaker: [undefined, anything],
  budget: [undefined, anything],
  clock: [undefined, anything],
  random: [undefined, anything],
  retry: [undefined, anything],
} satisfies OptionSpecOf<AwsRetryOptions>

class PolicyStrategy implements AwsRetryStrategy {
  readonly mode = 'holdfast'
  private readonly executor: GuardExecutor

  constructor(executor: GuardExecutor) {
    this.executor = executor
  }

  async acquireInitialRetryToken(scope: string): Promise<AwsRetryToken> {
    const { clock, budget } = this.executor.settings
    const admission = this.executor.createAdmission({ context: { scope } }, undefined)
    const rejection = admission?.acquirePermit(clock.now())
    if (rejection !== undefined) throw rejection
    if (budget !== undefined) countCall(budget)
    return new AttemptToken(0, 0, admission)
  }

  async refreshRetryTokenForRetry(token: AwsRetryToken, info: AwsErrorInfo): Promise<AwsRetryToken> {
    const { retry, clock, random, budget } = this.executor.settings
    const { delay: previousDelay, admission } = token as AttemptToken
    const { error } = info
    const attempt = token.getRetryCount() + 1
    const known = classifySdkError(info, () => clock.wall())
    admission?.recordOutcome(true, error, known, undefined)
    const delay = isRetryable(retry, error, known, attempt)
      ? nextDelay(retry, attempt, error, known.retryAfter, previousDelay, Number.POSITIVE_INFINITY, random)
      : 'not_retryable'
    if (typeof delay === 'string') throw createEndError(delay)
    if (admission?.isOpen()) throw createEndError('circuit_open')
    if (budget !== undefined && !withdrawRetry(budget)) throw createEndError('budget_spent')
    const withdrawnAt = clock.now()
    const returnUnused = () => {
      if (budget !== undefined) returnRetry(budget, clock.now() - withdrawnAt)
    }
    if (delay > 0) await new Promise<void>((resolve) => clock.setTimer(resolve, delay))
    const rejection = admission?.acquirePermit(clock.now())
    if (rejection !== undefined) {
      returnUnused()
      throw rejection
    }
    const renewed = new AttemptToken(attempt, delay, admission)
    if (admission !== undefined || budget !== undefined)
      onUnused(renewed, () => {
        admission?.releasePermit()
        returnUnused()
      })
    return renewed
  }

  recordSuccess(token: AwsRetryToken): void {
    ;(token as AttemptToken).admission?.recordOutcome(false, undefined, undefined, undefined)
  }
}

/** The SDK catches this error and throws that of the last attempt. */
const createEndError = (reason: string): Error => new Error(`no further attempt is made: ${reason}`)

/**
 * Calls `release` if the SDK does not use a token, because the command was aborted during the delay. The SDK does not pass its abort
 * signal to a strategy, and reads the number of retries as soon as it gets a token.
 */
function onUnused(token: AttemptToken, release: () => void): void {
  systemClock.setTimer(() => {
    if (!token.isUsed) release()
  }, 0)
}

class AttemptToken implements AwsRetryToken {
  readonly delay: number
  readonly admission: Admission | undefined
  readonly $retryLog: { acquisitionDelay: number }
  /** Whether the SDK has read the number of retries. */
  isUsed = false
  private readonly retryCount: number

  constructor(retryCount: number, delay: number, admission: Admission | undefined) {
    this.retryCount = retryCount
    this.delay = delay
    this.admission = admission
    this.$retryLog = { acquisitionDelay: delay }
  }

  getRetryCount(): number {
    this.isUsed = true
    return this.retryCount
  }

  getRetryDelay(): number {
    return 0
  }
}
