import type { Random } from 'holdfast'
import { isRetryable, nextDelay } from 'holdfast/engine'
import type { Draft, Failure, RuntimeCall } from '../calls/call.js'
import type { EventInput } from '../kit.js'

/** What a policy that only looks on would have done after a failure. */
export function shadowEvent(
  call: RuntimeCall<unknown>,
  draft: Draft,
  { error, known, summary }: Failure,
  random: Random,
): EventInput {
  const { present, number, line, given } = call
  const { record, shadowed } = present
  const again =
    shadowed !== undefined && known !== undefined && isRetryable(shadowed, error, known, number)
      ? nextDelay(shadowed, number, error, known.retryAfter, 0, Infinity, random)
      : 'not_retryable'
  const retries = typeof again === 'number'
  return {
    eventType: retries ? 'retry_attempt' : 'retry_failure',
    component: 'retry_manager',
    correlationId: draft.correlationId,
    sessionId: draft.sessionId,
    policyId: record.id,
    operation: given?.name ?? line.operation,
    ...(retries && { attempt: number + 1, maxAttempts: record.maxAttempts, delay: again }),
    error: summary,
    context: { shadow: true, ...(retries ? {} : { stopped: again }) },
  }
}
