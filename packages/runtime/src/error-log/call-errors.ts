import type { Alerts } from '../alerts/alerts.js'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import { type FailedAttemptInfo, type FailingCall, recordedName } from '../observation/observed-call.js'
import type { ErrorLog } from './error-log.js'

/** Writes an error record for each failed attempt, and raises an alert for each critical one. */
export class CallErrors implements CallObserver {
  private readonly errors: ErrorLog
  private readonly alerts: Alerts

  constructor(errors: ErrorLog, alerts: Alerts) {
    this.errors = errors
    this.alerts = alerts
  }

  // The record of an attempt says whether the attempt was retried, so it is written when that is decided.

  onRetryScheduled(call: FailingCall, failure: FailedAttemptInfo | undefined): void {
    if (failure !== undefined) this.record(call, failure, true)
  }

  onEnd(call: FailingCall, { failure }: CallEnd): void {
    if (failure !== undefined) this.record(call, failure, false)
  }

  private record(
    call: FailingCall,
    { error, classification, summary, isUnwantedValue }: FailedAttemptInfo,
    willRetry: boolean,
  ): void {
    if (classification === undefined || isUnwantedValue) return
    const { draft, options, number } = call
    const { sessionId, correlationId, policyId, context } = draft
    const operation = recordedName(call)
    const itemId = options?.itemId
    const record = this.errors.recordFailure({
      error,
      summary,
      classification,
      operation,
      itemId,
      context,
      willRetry,
      retryCount: Math.max(0, number - 1),
      sessionId,
    })
    if (record.severity !== 'CRITICAL') return
    const { kind, httpStatus } = record
    const ids = { policyId, sessionId, correlationId, itemId }
    this.alerts.raise({ operation, kind, error: summary, ...ids, httpStatus: httpStatus ?? undefined })
  }
}
