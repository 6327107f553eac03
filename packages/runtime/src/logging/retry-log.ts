import type { Logger } from '@holdfast/config'
import type { ErrorSummary } from '@holdfast/records'
import { CONTROL_CHARACTERS } from '@holdfast/records/constants'
import type { CallOptions } from '../api-types.js'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import { type FailedAttemptInfo, type FailingCall, recordedName } from '../observation/observed-call.js'

/** Whether a logger writes debug lines. A logger without `isLevelEnabled` is assumed to. */
const isDebugEnabled = (logger: Logger & { isLevelEnabled?(level: string): boolean }) =>
  logger.isLevelEnabled?.('debug') ?? true

/** The error of a call in a log line. */
const describeError = (error: ErrorSummary | undefined): string =>
  error ? `${error.type}: ${error.message}` : 'a value that is not wanted'

/** Logs calls in fixed wording that people search their logs for. A logger that throws loses its line. */
export class RetryLog implements CallObserver {
  private readonly logger: Logger | undefined

  constructor(logger: Logger | undefined) {
    this.logger = logger
  }

  onFirstAttemptSuccess(
    { name }: { readonly name: string },
    options: CallOptions<unknown> | undefined,
  ): void {
    const { logger } = this
    if (logger === undefined || !isDebugEnabled(logger)) return
    const operation = options?.name ?? name
    this.write(
      'debug',
      { operation, retryAttempt: 0 },
      `Operation '${operation}' succeeded (no retry needed)`,
    )
  }

  onRetryScheduled(call: FailingCall, failure: FailedAttemptInfo | undefined, delayMs: number): void {
    const operation = recordedName(call)
    const { number: retryAttempt, maxAttempts } = call
    const error = describeError(failure?.isUnwantedValue ? undefined : failure?.summary)
    const maxRetries = maxAttempts === Number.POSITIVE_INFINITY ? '∞' : maxAttempts - 1
    this.write(
      'info',
      { operation, retryAttempt, delay: delayMs, error },
      `Retry attempt ${retryAttempt}/${maxRetries} for '${operation}' after ${Math.round(delayMs)}ms: ${error}`,
    )
  }

  onEnd(call: FailingCall, { isSuccess, isShed, retryCount, stopped, error: summary }: CallEnd): void {
    if (isShed) return
    const operation = recordedName(call)
    if (isSuccess) {
      this.write(
        'info',
        { operation, retryAttempt: retryCount },
        `Operation '${operation}' succeeded after ${retryCount} retry attempts`,
      )
      return
    }
    const { number: attempts } = call
    const error = describeError(summary)
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

  /** Writes a line. An error of an upstream server can contain line breaks, which must not look like further lines. */
  write(level: keyof Logger, fields: object, message: string): void {
    try {
      this.logger?.[level](fields, message.replace(CONTROL_CHARACTERS, ' '))
    } catch {
      // The logger is the user's: its error must not fail the call.
    }
  }
}
