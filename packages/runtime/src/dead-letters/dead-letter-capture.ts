import type { RetryPolicy } from '@holdfast/records'
import type { HoldfastError } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import type { FailingCall } from '../observation/observed-call.js'
import { requestOf } from '../request-call.js'
import type { DeadLetters } from './dead-letters.js'
import type { FailedCall } from './writer.js'

/** Stores the payload of each call that failed as a dead letter, before the caller gets the error. */
export class DeadLetterCapture implements CallObserver {
  private readonly deadLetters: () => DeadLetters
  private readonly pending = new Set<Promise<unknown>>()
  private isClosed = false

  constructor(deadLetters: () => DeadLetters) {
    this.deadLetters = deadLetters
  }

  beforeRejection(call: FailingCall, end: CallEnd): Promise<unknown> | undefined {
    const { stopped, result, failure } = end
    const { policy, record } = call.effectivePolicy
    if (stopped === 'aborted' || stopped === 'unwanted_value') return undefined
    if (call.deadLetter?.shouldStore(result, failure?.classification, policy) === false) return undefined
    const { kind, sessionId, correlationId } = call.draft
    return this.capture(record, call.deadLetter ?? call.options, {
      operation: call.operation.name,
      error: result,
      kind,
      retryCount: Math.max(0, call.number - 1),
      sessionId,
      correlationId,
    })
  }

  /**
   * Stores the payload of a call that was rejected before it started, because the runtime closes: a pipeline may have started
   * its item before. Stores nothing after {@link close}.
   */
  onClosedCall(
    operation: string,
    policy: RetryPolicy,
    options: CallOptions<unknown> | undefined,
    error: HoldfastError,
  ): Promise<unknown> | undefined {
    if (this.isClosed || options?.signal?.aborted) return undefined
    const { correlationId } = options ?? {}
    const source = requestOf(options)?.deadLetter ?? options
    return this.capture(policy, source, { operation, error, retryCount: 0, correlationId })
  }

  private capture(
    { id: policyId, deadLetter, shadow }: RetryPolicy,
    { payload, createPayload, itemId, idempotencyKey }: Partial<FailedCall> = {},
    call: Omit<FailedCall, 'payload'>,
  ): Promise<unknown> | undefined {
    if ((payload === undefined && createPayload === undefined) || !deadLetter || shadow) return undefined
    const stored = this.deadLetters().capture({
      ...call,
      itemId,
      payload,
      createPayload,
      idempotencyKey,
      policyId,
    })
    this.pending.add(stored)
    void stored.finally(() => this.pending.delete(stored))
    return stored
  }

  /** Stores no further calls that are rejected before they start, and resolves when the others are stored. */
  async close(): Promise<void> {
    this.isClosed = true
    await Promise.allSettled(this.pending)
  }
}
