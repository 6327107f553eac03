import type { Clock } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import type { FailingCall, ObservedCall } from '../observation/observed-call.js'
import type { Metrics } from './metrics.js'

/** Counts calls and their attempts, by operation and by pool member. */
export class CallMetrics implements CallObserver {
  private readonly clock: Clock
  private readonly metrics: Metrics

  constructor(clock: Clock, metrics: Metrics) {
    this.clock = clock
    this.metrics = metrics
  }

  onFirstAttemptSuccess(
    { metrics }: ObservedCall['operation'],
    _: CallOptions<unknown> | undefined,
    startedAt: number,
  ): void {
    metrics.recordFirstAttemptSuccess(startedAt)
  }

  onSuccess(call: ObservedCall): void {
    if (call.member !== undefined) this.recordMemberAttempt(call, true, this.clock.now() - call.startedAt)
  }

  onAttemptFailed(call: FailingCall): void {
    const last = call.history.at(-1)
    if (last !== undefined) this.recordAttempt(call, false, last.duration, call.draft.kind)
  }

  onEnd(call: FailingCall, { isSuccess, isRejected, stopped, attempts, durationMs }: CallEnd): void {
    if (isSuccess) this.recordAttempt(call, true, call.history.at(-1)?.duration ?? 0)
    const isAborted = stopped === 'aborted' || stopped === 'cancelled'
    const hasNoAttempt = isRejected || (attempts === 0 && !isSuccess)
    call.operation.metrics.recordCallEnd({
      success: isSuccess,
      attempts,
      duration: durationMs,
      policyIds: call.draft.policyIds,
      // A call without an attempt was rejected by a bulkhead or a pool, or aborted before its first attempt.
      kind: hasNoAttempt ? stopped : undefined,
      isRejected: hasNoAttempt && !isAborted,
    })
  }

  private recordAttempt(call: ObservedCall, isSuccess: boolean, durationMs: number, kind?: string): void {
    call.operation.metrics.recordAttempt(isSuccess, durationMs, kind)
    this.recordMemberAttempt(call, isSuccess, durationMs)
  }

  private recordMemberAttempt(
    { member, options }: ObservedCall,
    isSuccess: boolean,
    durationMs: number,
  ): void {
    if (member !== undefined && options?.pool !== undefined)
      this.metrics.recordMemberAttempt(options.pool, member.id, isSuccess, Math.max(0, durationMs))
  }
}
