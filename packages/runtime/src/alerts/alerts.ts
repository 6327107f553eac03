import type { RuntimeContext } from '@holdfast/config'
import {
  type ErrorSummary,
  errorMessageOf,
  eventCodec,
  type RetryEvent,
  ThrottledWarnings,
} from '@holdfast/records'
import { runOutsideContext } from 'holdfast/internal'
import { AlertLimiter } from './limiter.js'
import { type AlertOptions, Webhook } from './webhook.js'

/** How many alerts can be in flight, and how long `close` waits for them. */
const MAX_PENDING_ALERTS = 100
const CLOSE_TIMEOUT_MS = 3000

/** A failure that requires action by a person. */
export interface CriticalFailure {
  readonly operation: string
  readonly kind: string
  /** The error, redacted. */
  readonly error: ErrorSummary
  readonly sessionId?: string | undefined
  readonly policyId?: string | undefined
  readonly correlationId?: string | undefined
  readonly itemId?: string | undefined
  readonly httpStatus?: number | undefined
}

/** Reports critical failures: each as an event, and rate-limited to a webhook. No call waits for it. */
export class Alerts {
  private readonly runtime: RuntimeContext
  private readonly options: () => AlertOptions
  private readonly limiter: AlertLimiter
  private readonly webhook: Webhook
  private readonly warnings: ThrottledWarnings
  private readonly pending = new Set<Promise<void>>()
  private readonly closeController = new AbortController()

  constructor(runtime: RuntimeContext, options: () => AlertOptions) {
    this.runtime = runtime
    this.options = options
    this.limiter = new AlertLimiter(runtime.clock)
    this.webhook = new Webhook(runtime)
    this.warnings = new ThrottledWarnings(runtime.clock, (line) => runtime.warn(line))
  }

  /** A call failed in a way that requires action by a person. */
  raise({ operation, kind, error, itemId, httpStatus, correlationId, ...ids }: CriticalFailure): RetryEvent {
    const context: Record<string, unknown> = { category: 'critical', kind }
    if (itemId !== undefined) context.item_id = itemId
    if (httpStatus !== undefined) context.http_status = httpStatus
    const event = this.runtime.emit({
      eventType: 'alert',
      component: 'retry_manager',
      operation,
      error,
      context,
      ...ids,
      ...(correlationId === undefined ? undefined : { correlationId }),
    })
    const options = this.options()
    if (options.webhook !== undefined && !this.closeController.signal.aborted)
      this.send(event, options, `${operation} ${kind}`)
    return event
  }

  /** Waits until the alerts in flight are delivered or have failed. */
  async flush(): Promise<void> {
    await Promise.all(this.pending)
  }

  /** Waits for the alerts in flight, for a limited time. */
  async close(): Promise<void> {
    const { clock } = this.runtime
    const timer = clock.setTimer(
      () => this.closeController.abort(new Error('the process ends')),
      CLOSE_TIMEOUT_MS,
    )
    await this.flush()
    clock.clearTimer(timer)
    this.closeController.abort(new Error('the process ends'))
  }

  private send(event: RetryEvent, options: AlertOptions, key: string): void {
    const suppressed = this.pending.size < MAX_PENDING_ALERTS ? this.limiter.tryAcquire(key) : undefined
    if (suppressed === undefined) return
    const body = JSON.stringify({ ...eventCodec.encode(this.runtime.redact(event)), suppressed: suppressed })
    const sending = runOutsideContext(() => this.webhook.send(options, body, this.closeController.signal))
      .catch((error: unknown) => this.warnUndelivered(error))
      .finally(() => this.pending.delete(sending))
    this.pending.add(sending)
  }

  /** The URL is not shown, because any part of it may be a secret. */
  private warnUndelivered(error: unknown): void {
    const { message, cause } = error as { message?: unknown; cause?: unknown }
    const why = cause === undefined ? errorMessageOf(error) : `${message}: ${errorMessageOf(cause)}`
    this.warnings.warn(`holdfast: an alert could not be sent to alerts.webhook: ${this.runtime.redact(why)}`)
  }
}
