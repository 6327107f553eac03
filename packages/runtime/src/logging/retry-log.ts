import type { Logger } from '@holdfast/config'

/** Whether a logger takes debug lines at all; one that cannot say is taken to. */
const isDebugEnabled = (logger: Logger & { isLevelEnabled?(level: string): boolean }) =>
  logger.isLevelEnabled?.('debug') ?? true

/** What happens to calls, in the words that people search their logs for. A logger that throws loses its line. */
export class RetryLog {
  private readonly logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.logger = logger
  }

  /** Whether anybody reads it. */
  get isEnabled(): boolean {
    return this.logger !== undefined
  }

  logFirstAttempt(operation: string): void {
    const { logger } = this
    if (logger !== undefined && isDebugEnabled(logger))
      this.write(
        'debug',
        { operation, retryAttempt: 0 },
        `Operation '${operation}' succeeded (no retry needed)`,
      )
  }

  logRetry(operation: string, attempt: number, max: number, delay: number, error: string): void {
    const of = max === Number.POSITIVE_INFINITY ? '∞' : max - 1
    this.write(
      'info',
      { operation, retryAttempt: attempt - 1, delay, error },
      `Retry attempt ${attempt - 1}/${of} for '${operation}' after ${Math.round(delay)}ms: ${error}`,
    )
  }

  logRecovered(operation: string, retries: number): void {
    this.write(
      'info',
      { operation, retryAttempt: retries },
      `Operation '${operation}' succeeded after ${retries} retry attempts`,
    )
  }

  logExhausted(operation: string, attempts: number, stopped: string, error: string): void {
    this.write(
      'warn',
      { operation, retryAttempt: Math.max(0, attempts - 1), stopped, error },
      `Retry exhausted for '${operation}' after ${attempts} attempts: ${error}`,
    )
  }

  logBreakerOpened(breaker: string, failures: number): void {
    this.write(
      'warn',
      { operation: breaker, breaker, failures },
      `Circuit breaker '${breaker}' opened after ${failures} failures`,
    )
  }

  /** A line of its own. */
  write(level: keyof Logger, fields: object, message: string): void {
    try {
      this.logger?.[level](fields, message)
    } catch {
      // The logger is the user's; a line less is all it may cost.
    }
  }
}
