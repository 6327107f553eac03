import type { EventInput } from '@holdfast/config'
import { freezeWith } from '@holdfast/records'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import {
  type FailedAttemptInfo,
  type FailingCall,
  recordedName,
  type SessionDraft,
} from '../observation/observed-call.js'
import { roundToMicroseconds } from '../round.js'

/** Emits `retry_attempt`, `retry_success` and `retry_failure` events. */
export class CallEvents implements CallObserver {
  private readonly emit: (event: EventInput) => void

  constructor(emit: (event: EventInput) => void) {
    this.emit = emit
  }

  onRetryScheduled(call: FailingCall, failure: FailedAttemptInfo | undefined, delayMs: number): void {
    const { draft, effectivePolicy, number, maxAttempts } = call
    // An unwanted value is not an error.
    const error = failure?.isUnwantedValue ? undefined : failure?.summary
    this.emit({
      eventType: 'retry_attempt',
      component: 'retry_manager',
      correlationId: draft.correlationId,
      sessionId: draft.sessionId,
      policyId: effectivePolicy.record.id,
      operation: recordedName(call),
      attempt: number + 1,
      maxAttempts,
      delay: roundToMicroseconds(delayMs),
      ...(error && { error }),
      ...contextField(draft),
    })
  }

  onEnd(call: FailingCall, { isSuccess, attempts, error, stopped, served, isShed }: CallEnd): void {
    if (isShed) return
    const { draft } = call
    this.emit({
      eventType: isSuccess ? 'retry_success' : 'retry_failure',
      component: 'retry_manager',
      correlationId: draft.correlationId,
      sessionId: draft.sessionId,
      policyId: draft.policyId,
      operation: recordedName(call),
      ...(isSuccess ? { attempt: attempts } : error && { error }),
      ...(isSuccess
        ? contextField(draft)
        : { context: freezeWith(draft.context, { stopped, ...(served && { served }) }) }),
    })
  }
}

const contextField = ({ context }: SessionDraft) => (context === undefined ? {} : { context })
