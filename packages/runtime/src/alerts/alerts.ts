import { runOutsideContext } from 'holdfast/internal'
import { Complaints } from '../error-log/complaints.js'
import type { Kit } from '../kit.js'
import { type ErrorSummary, eventCodec, type RetryEvent } from '../records/session.js'
import { messageOf } from '../records/summary.js'
import { AlertLimiter } from './limiter.js'
import { type AlertOptions, Webhook } from './webhook.js'

/** How many alerts may be on their way, and how long the end of the process waits for them. */
const MOST_PENDING = 100
const GRACE = 3000

/** A failure that a person has to act on. */
export interface Critical {
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
  private readonly kit: Kit
  private readonly options: () => AlertOptions
  private readonly limiter: AlertLimiter
  private readonly webhook: Webhook
  private readonly complaints: Complaints
  private readonly pending = new Set<Promise<void>>()
  private readonly ending = new AbortController()

  constructor(kit: Kit, options: () => AlertOptions) {
    this.kit = kit
    this.options = options
    this.limiter = new AlertLimiter(kit.clock)
    this.webhook = new Webhook(kit)
    this.complaints = new Complaints(kit.clock, (line) => kit.complain(line))
  }

  /** A call failed in a way that a person has to act on. */
  raise({ operation, kind, error, itemId, httpStatus, correlationId, ...ids }: Critical): RetryEvent {
    const context: Record<string, unknown> = { category: 'critical', kind }
    if (itemId !== undefined) context.item_id = itemId
    if (httpStatus !== undefined) context.http_status = httpStatus
    const event = this.kit.emit({
      eventType: 'alert',
      component: 'retry_manager',
      operation,
      error,
      context,
      ...ids,
      ...(correlationId === undefined ? undefined : { correlationId }),
    })
    const options = this.options()
    if (options.webhook !== undefined && !this.ending.signal.aborted)
      this.send(event, options, `${operation} ${kind}`)
    return event
  }

  /** Waits for alerts on their way, until they are taken or given up. */
  async flush(): Promise<void> {
    await Promise.all(this.pending)
  }

  /** Waits for alerts on their way, but not for long. */
  async close(): Promise<void> {
    const { clock } = this.kit
    const timer = clock.setTimer(() => this.ending.abort(new Error('the process ends')), GRACE)
    await this.flush()
    clock.clearTimer(timer)
    this.ending.abort(new Error('the process ends'))
  }

  private send(event: RetryEvent, options: AlertOptions, key: string): void {
    const held = this.pending.size < MOST_PENDING ? this.limiter.admit(key) : undefined
    if (held === undefined) return
    const body = JSON.stringify({ ...eventCodec.encode(this.kit.redact(event)), suppressed: held })
    const sending = runOutsideContext(() => this.webhook.send(options, body, this.ending.signal))
      .catch((error: unknown) => this.complain(error))
      .finally(() => this.pending.delete(sending))
    this.pending.add(sending)
  }

  /** The URL may hold a secret in any of its parts, so it is not shown. */
  private complain(error: unknown): void {
    const { message, cause } = error as { message?: unknown; cause?: unknown }
    const why = cause === undefined ? messageOf(error) : `${message}: ${messageOf(cause)}`
    this.complaints.say(`holdfast: an alert could not be sent to alerts.webhook: ${this.kit.redact(why)}`)
  }
}
