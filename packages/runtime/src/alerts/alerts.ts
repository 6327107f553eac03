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

/** How many alerts may be on their way, and how long the end of the process waits for them. */
const MAX_PENDING_ALERTS = 100
const CLOSE_TIMEOUT_MS = 3000

/** A failure that a person has to act on. */
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

/** Tells of critical failures: an event each, and a webhook that is not told too often. No call waits for it. */
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

  /** A call failed in a way that a person has to act on. */
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

  /** Waits for alerts on their way, until they are taken or given up. */
  async flush(): Promise<void> {
    await Promise.all(this.pending)
  }

  /** Waits for alerts on their way, but not for long. */
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

  /** The URL may hold a secret in any of its parts, so it is not shown. */
  private warnUndelivered(error: unknown): void {
    const { message, cause } = error as { message?: unknown; cause?: unknown }
    const why = cause === undefined ? errorMessageOf(error) : `${message}: ${errorMessageOf(cause)}`
    this.warnings.warn(`holdfast: an alert could not be sent to alerts.webhook: ${this.runtime.redact(why)}`)
  }
}
