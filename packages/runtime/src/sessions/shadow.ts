import { isHoldfastError } from 'holdfast'
import type { RuntimeCall } from '../calls/call.js'
import type { Foresight } from '../calls/onlooker.js'
import type { EventInput } from '../kit.js'
import type { ErrorSummary } from '../records/session.js'

/** Tells what a policy that only looks on would have done with a call. */
export function shadowEvent(
  { line, given, draft }: RuntimeCall,
  { policyId, attempt, maxAttempts, next, error, happened }: Foresight,
  summary: ErrorSummary,
): EventInput {
  const retries = typeof next === 'number'
  const correlationId = draft?.correlationId ?? given?.correlationId
  return {
    eventType: retries ? 'retry_attempt' : 'retry_failure',
    component: 'retry_manager',
    ...(correlationId !== undefined && { correlationId }),
    // A call that succeeded at once has no session.
    ...(draft !== undefined && { sessionId: draft.sessionId }),
    policyId,
    operation: given?.name ?? line.operation,
    ...(retries && { attempt: attempt + 1, maxAttempts, delay: Math.round(next * 1000) / 1000 }),
    error: summary,
    context: {
      shadow: true,
      ...(!retries && { stopped: next }),
      ...(!happened && isHoldfastError(error) && { code: error.code }),
    },
  }
}
