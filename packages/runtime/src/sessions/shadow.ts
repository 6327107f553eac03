import type { EventInput } from '@holdfast/config'
import type { ErrorSummary } from '@holdfast/records'
import { isHoldfastError } from 'holdfast'
import type { RuntimeCall } from '../execution/runtime-call.js'
import type { ShadowDecision } from '../execution/shadow-evaluator.js'

/** Tells what a policy that only looks on would have done with a call. */
export function createShadowEvent(
  { operation, options, draft }: RuntimeCall,
  { policyId, attempt, maxAttempts, next, error, isActualError }: ShadowDecision,
  summary: ErrorSummary,
): EventInput {
  const retries = typeof next === 'number'
  const correlationId = draft?.correlationId ?? options?.correlationId
  return {
    eventType: retries ? 'retry_attempt' : 'retry_failure',
    component: 'retry_manager',
    ...(correlationId !== undefined && { correlationId }),
    // A call that succeeded at once has no session.
    ...(draft !== undefined && { sessionId: draft.sessionId }),
    policyId,
    operation: options?.name ?? operation.name,
    ...(retries && { attempt: attempt + 1, maxAttempts, delay: Math.round(next * 1000) / 1000 }),
    error: summary,
    context: {
      shadow: true,
      ...(!retries && { stopped: next }),
      ...(!isActualError && isHoldfastError(error) && { code: error.code }),
    },
  }
}
