import type { EventInput } from '@holdfast/config'
import type { ErrorSummary } from '@holdfast/records'
import { isHoldfastError } from 'holdfast'
import type { CallObserver } from '../observation/call-observer.js'
import { type ObservedCall, recordedName, type ShadowDecision } from '../observation/observed-call.js'
import { type RecordFormatter, summaryOf } from '../observation/session-draft.js'
import { roundToMicroseconds } from '../round.js'

/** Emits an event for each decision that a policy in shadow mode would have made. */
export class ShadowEvents implements CallObserver {
  private readonly emit: (event: EventInput) => void
  private readonly formatter: RecordFormatter

  constructor(emit: (event: EventInput) => void, formatter: RecordFormatter) {
    this.emit = emit
    this.formatter = formatter
  }

  onSuccess(call: ObservedCall): void {
    this.emitDecision(call)
  }

  onAttemptFailed(call: ObservedCall): void {
    this.emitDecision(call)
  }

  onEnd(call: ObservedCall): void {
    this.emitDecision(call)
  }

  private emitDecision(call: ObservedCall): void {
    const decision = call.takeShadowDecision()
    if (decision === undefined) return
    const { draft } = call
    const { error, isActualError } = decision
    const summary =
      isActualError && draft !== undefined
        ? summaryOf(draft, error, this.formatter)
        : this.formatter.summarizeError(error)
    this.emit(createShadowEvent(call, decision, summary))
  }
}

function createShadowEvent(
  call: ObservedCall,
  { policyId, attempt, maxAttempts, next, error, isActualError }: ShadowDecision,
  summary: ErrorSummary,
): EventInput {
  const { options, draft } = call
  const isRetry = typeof next === 'number'
  const correlationId = draft?.correlationId ?? options?.correlationId
  return {
    eventType: isRetry ? 'retry_attempt' : 'retry_failure',
    component: 'retry_manager',
    ...(correlationId !== undefined && { correlationId }),
    // A call that succeeded with its first attempt has no session.
    ...(draft !== undefined && { sessionId: draft.sessionId }),
    policyId,
    operation: recordedName(call),
    ...(isRetry && { attempt: attempt + 1, maxAttempts, delay: roundToMicroseconds(next) }),
    error: summary,
    context: {
      shadow: true,
      ...(!isRetry && { stopped: next }),
      ...(!isActualError && isHoldfastError(error) && { code: error.code }),
    },
  }
}
