import type { Logger } from '../kit.js'

/** Whether a logger takes debug lines at all; one that cannot say is taken to. */
const debugs = (logger: Logger & { isLevelEnabled?(level: string): boolean }) =>
  logger.isLevelEnabled?.('debug') ?? true

/** What happens to calls, in the words that people search their logs for. A logger that throws loses its line. */
export class RetryLog {
  private readonly logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.logger = logger
  }

  /** Whether anybody reads it. */
  get heard(): boolean {
    return this.logger !== undefined
  }

  first(operation: string): void {
    const { logger } = this
    if (logger !== undefined && debugs(logger))
      this.say(
        'debug',
        { operation, retryAttempt: 0 },
        `Operation '${operation}' succeeded (no retry needed)`,
      )
  }

  retry(operation: string, attempt: number, max: number, delay: number, error: string): void {
    const of = max === Number.POSITIVE_INFINITY ? '∞' : max - 1
    this.say(
      'info',
      { operation, retryAttempt: attempt - 1, delay, error },
      `Retry attempt ${attempt - 1}/${of} for '${operation}' after ${Math.round(delay)}ms: ${error}`,
    )
  }

  recovered(operation: string, retries: number): void {
    this.say(
      'info',
      { operation, retryAttempt: retries },
      `Operation '${operation}' succeeded after ${retries} retry attempts`,
    )
  }

  exhausted(operation: string, attempts: number, stopped: string, error: string): void {
    this.say(
      'warn',
      { operation, retryAttempt: Math.max(0, attempts - 1), stopped, error },
      `Retry exhausted for '${operation}' after ${attempts} attempts: ${error}`,
    )
  }

  opened(breaker: string, failures: number): void {
    this.say(
      'warn',
      { operation: breaker, breaker, failures },
      `Circuit breaker '${breaker}' opened after ${failures} failures`,
    )
  }

  /** A line of its own. */
  say(level: keyof Logger, fields: object, message: string): void {
    try {
      this.logger?.[level](fields, message)
    } catch {
      // The logger is the user's; a line less is all it may cost.
    }
  }
}
