import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import type { FailingCall } from '../observation/observed-call.js'
import type { DeadLetters } from './dead-letters.js'
import type { FailedCall } from './writer.js'

/** Stores the payload of each call that failed as a dead letter, before the caller gets the error. */
export class DeadLetterCapture implements CallObserver {
  private readonly deadLetters: () => DeadLetters
  private readonly pending = new Set<Promise<unknown>>()

  constructor(deadLetters: () => DeadLetters) {
    this.deadLetters = deadLetters
  }

  beforeRejection(call: FailingCall, end: CallEnd): Promise<unknown> | undefined {
    const { stopped, result, failure } = end
    const { policy } = call.effectivePolicy
    const { payload, createPayload, itemId, idempotencyKey }: Partial<FailedCall> =
      call.deadLetter ?? call.options ?? {}
    const { deadLetter, shadow, id: policyId } = call.effectivePolicy.record
    if ((payload === undefined && createPayload === undefined) || !deadLetter || shadow) return undefined
    if (stopped === 'aborted' || stopped === 'unwanted_value') return undefined
    if (call.deadLetter?.shouldStore(result, failure?.classification, policy) === false) return undefined
    const { kind, sessionId, correlationId } = call.draft
    const stored = this.deadLetters().capture({
      operation: call.operation.name,
      itemId,
      payload,
      createPayload,
      error: result,
      idempotencyKey,
      kind,
      retryCount: Math.max(0, call.number - 1),
      policyId,
      sessionId,
      correlationId,
    })
    this.pending.add(stored)
    void stored.finally(() => this.pending.delete(stored))
    return stored
  }

  /** Resolves when every dead letter that is being stored is stored. */
  async whenSettled(): Promise<void> {
    await Promise.allSettled(this.pending)
  }
}
