import type { EventInput } from '@holdfast/config'
import { type ErrorSummary, freezeWith, type RetrySession } from '@holdfast/records'
import type { Classification, Clock, Random, StopReason } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import type { CompiledOperation } from '../execution/compiled-operation.js'
import type { ActiveCall, RecordingObserver } from '../execution/recording-observer.js'
import type { FailedAttemptInfo, RuntimeCall, SessionDraft } from '../execution/runtime-call.js'
import type { RetryLog } from '../logging/retry-log.js'
import { ActiveCalls } from './active.js'
import { createSessionDraft } from './draft.js'
import { GuardEventEmitter } from './guard-events.js'
import { createSessionRecord, type RecordFormatter } from './session.js'
import { createShadowEvent } from './shadow.js'

/** Where what was recorded goes. */
export interface RecorderSinks {
  clock: Clock
  random: Random
  log: RetryLog
  formatter(): RecordFormatter
  emit(event: EventInput): void
  addSession(record: RetrySession): void
  /** An attempt failed, and it is known what became of it. */
  addError(call: RuntimeCall, draft: SessionDraft, failure: FailedAttemptInfo, willRetry: boolean): void
  /** A member of a pool ended an attempt. */
  addMemberAttempt(pool: string, member: string, ok: boolean, duration: number): void
  /** Keeps a failed call's payload; resolves when it is kept, or when it cannot be. */
  addDeadLetter(call: RuntimeCall, draft: SessionDraft, error: unknown): Promise<unknown> | undefined
  /** Something in here went wrong: it is told, and the call goes on. */
  onInternalError(error: unknown): void
}

/** A failure in a line of the log. */
const describeError = (error: ErrorSummary | null | undefined): string =>
  error ? `${error.type}: ${error.message}` : 'a value that is not wanted'

/** Writes down what calls did. Nothing of it can fail a call. */
export class CallRecorder implements RecordingObserver {
  readonly active = new ActiveCalls()
  /** Those who hold guards of operations. */
  readonly guardEvents = new GuardEventEmitter()
  /** What is being kept of calls that ended. */
  private readonly pendingDeadLetters = new Set<Promise<unknown>>()
  private readonly sinks: RecorderSinks

  constructor(sinks: RecorderSinks) {
    this.sinks = sinks
  }

  onStart(call: ActiveCall): void {
    this.active.add(call)
  }

  onReplaced(call: ActiveCall): void {
    this.active.remove(call)
  }

  onFirstAttemptSuccess(
    call: ActiveCall,
    line: CompiledOperation,
    input: CallOptions | undefined,
    startedAt: number,
  ): void {
    this.active.remove(call)
    line.metrics.recordFirstAttemptSuccess(startedAt)
    if (this.sinks.log.isEnabled) this.sinks.log.logFirstAttempt(input?.name ?? line.name)
  }

  onAttemptFailed(
    call: RuntimeCall,
    threw: boolean,
    result: unknown,
    classification: Classification | undefined,
  ): void {
    const error = threw ? result : undefined
    try {
      const draft = (call.draft ??= this.createDraft(call))
      const { effectivePolicy, history } = call
      const { id } = effectivePolicy.record
      draft.policyId = id
      if (!draft.policyIds.includes(id)) draft.policyIds.push(id)
      draft.kind = classification?.kind ?? 'unknown'
      draft.nextRetryTime = undefined
      const pending = {
        error,
        classification,
        summary: this.summaryOf(draft, error),
        isUnwantedValue: !threw,
      }
      call.pending = pending
      const last = history.at(-1)
      if (last !== undefined) this.recordAttempt(call, false, last.duration, draft.kind)
      this.emitShadowEvent(call)
      if (this.guardEvents.hasListeners)
        this.emitGuardEvent(call, 'attempt_failed', call.number, {
          ...(threw ? { error: result } : { value: result }),
          duration: last?.duration ?? 0,
          memberId: last?.memberId,
        })
    } catch (internalError) {
      this.sinks.onInternalError(internalError)
    }
  }

  onRetryScheduled(call: RuntimeCall, wait: number): void {
    const { clock, log, emit } = this.sinks
    try {
      const { draft, effectivePolicy, operation: line, options, number } = call
      if (draft === undefined) return
      const operation = options?.name ?? line.name
      const failure = this.recordPendingFailure(call, true)
      // A value that is not wanted is no error.
      const error = failure?.isUnwantedValue ? undefined : failure?.summary
      const { maxAttempts } = call
      const { id: policyId } = effectivePolicy.record
      draft.nextRetryTime = clock.wall() + wait
      emit({
        eventType: 'retry_attempt',
        component: 'retry_manager',
        correlationId: draft.correlationId,
        sessionId: draft.sessionId,
        policyId,
        operation,
        attempt: number + 1,
        maxAttempts,
        delay: Math.round(wait * 1000) / 1000,
        ...(error && { error }),
        ...contextField(draft),
      })
      log.logRetry(operation, number + 1, maxAttempts, wait, describeError(error))
      if (this.guardEvents.hasListeners)
        this.emitGuardEvent(call, 'retry_scheduled', number + 1, {
          error: failure?.error,
          maxAttempts,
          delay: wait,
        })
    } catch (internalError) {
      this.sinks.onInternalError(internalError)
    }
  }

  onEnd(call: RuntimeCall, stopped: StopReason, result: unknown): Promise<unknown> | undefined {
    const { operation, options, startedAt, member } = call
    this.emitShadowEvent(call)
    if (call.draft === undefined && stopped === 'succeeded') {
      this.onFirstAttemptSuccess(call, operation, options, startedAt)
      if (this.guardEvents.hasListeners) this.emitGuardEvent(call, 'succeeded', 1, {})
      if (member !== undefined) this.recordMember(call, true, this.sinks.clock.now() - startedAt)
      return undefined
    }
    this.active.remove(call)
    try {
      this.recordSession(call, (call.draft ??= this.createDraft(call)), stopped, result)
    } catch (internalError) {
      this.sinks.onInternalError(internalError)
    }
    if (this.guardEvents.hasListeners) {
      const success = stopped === 'succeeded'
      const facts = stopped === 'unwanted_value' ? { value: result } : { error: result }
      this.emitGuardEvent(
        call,
        success ? 'succeeded' : 'gave_up',
        call.number,
        success ? {} : { ...facts, stopped },
      )
    }
    return this.storeDeadLetter(call, stopped, result)
  }

  /** Resolves when everything that is to be kept is kept. */
  async whenSettled(): Promise<void> {
    await Promise.allSettled(this.pendingDeadLetters)
  }

  /** Records of those that have failed at least once and still run, newest first. */
  runningSessions(): RetrySession[] {
    return [...this.active.failingCalls()].map((call) => this.recordOf(call))
  }

  /** The record of one that runs. */
  recordOf(call: RuntimeCall): RetrySession {
    const { clock, formatter } = this.sinks
    return createSessionRecord(call, call.draft as SessionDraft, undefined, clock.wall(), formatter())
  }

  find(sessionId: string): RuntimeCall | undefined {
    for (const call of this.active.failingCalls()) if (call.draft?.sessionId === sessionId) return call
    return undefined
  }

  /** Tells what a policy that only looks on would have done, where that is not told yet. */
  private emitShadowEvent(call: RuntimeCall): void {
    const { draft } = call
    const foreseen = call.admission?.takeForesight()
    if (foreseen === undefined) return
    const { error, isActualError } = foreseen
    const { formatter, emit, onInternalError: internalError } = this.sinks
    try {
      const summary =
        isActualError && draft !== undefined
          ? this.summaryOf(draft, error)
          : formatter().summarizeError(error)
      emit(createShadowEvent(call, foreseen, summary))
    } catch (thrown) {
      internalError(thrown)
    }
  }

  private emitGuardEvent(
    call: RuntimeCall,
    type: 'attempt_failed' | 'retry_scheduled' | 'succeeded' | 'gave_up',
    attempt: number,
    facts: object,
  ): void {
    this.guardEvents.emitCallEvent(call, this.sinks.clock.wall(), type, attempt, facts)
  }

  private recordAttempt(call: RuntimeCall, ok: boolean, duration: number, kind?: string): void {
    call.operation.metrics.recordAttempt(ok, duration, kind)
    if (call.member !== undefined) this.recordMember(call, ok, duration)
  }

  private recordMember(call: RuntimeCall, ok: boolean, duration: number): void {
    const { member, options } = call
    if (member !== undefined && options?.pool !== undefined)
      this.sinks.addMemberAttempt(options.pool, member.id, ok, Math.max(0, duration))
  }

  private recordSession(call: RuntimeCall, draft: SessionDraft, stopped: StopReason, result: unknown): void {
    const { clock, log, emit, formatter } = this.sinks
    const { operation: line, history } = call
    const success = stopped === 'succeeded'
    const at = clock.wall()
    if (draft.policyIds.length === 0) draft.policyIds.push(draft.policyId)
    const isRejected = history.at(-1)?.outcome === 'circuit_open'
    if (isRejected) draft.kind = stopped
    if (success) this.recordAttempt(call, true, history.at(-1)?.duration ?? 0)
    else this.recordPendingFailure(call, false, isRejected ? { error: result, kind: stopped } : undefined)
    if (!success && stopped !== 'unwanted_value') this.summaryOf(draft, result)
    const record = createSessionRecord(call, draft, { stopped, result, at }, at, formatter())
    this.sinks.addSession(record)
    line.metrics.recordCallEnd({
      success,
      attempts: record.totalAttempts,
      duration: record.totalDuration,
      policyIds: draft.policyIds,
      kind: isRejected ? stopped : undefined,
    })
    const { operation, policyId, finalError } = record
    emit({
      eventType: success ? 'retry_success' : 'retry_failure',
      component: 'retry_manager',
      correlationId: draft.correlationId,
      sessionId: draft.sessionId,
      policyId,
      operation,
      ...(success ? { attempt: record.totalAttempts } : finalError && { error: finalError }),
      ...(success ? contextField(draft) : { context: freezeWith(draft.context, { stopped }) }),
    })
    if (success) log.logRecovered(operation, record.retryCount)
    else {
      log.logExhausted(operation, call.number, stopped, describeError(finalError))
    }
  }

  /** Keeps the payload of a call that ended in failure, whatever became of its records. */
  private storeDeadLetter(
    call: RuntimeCall,
    stopped: StopReason,
    error: unknown,
  ): Promise<unknown> | undefined {
    const { options, draft } = call
    if (options?.payload === undefined || draft === undefined) return undefined
    if (stopped === 'succeeded' || stopped === 'aborted' || stopped === 'unwanted_value') return undefined
    const deadLetter = this.sinks.addDeadLetter(call, draft, error)
    if (deadLetter !== undefined) {
      this.pendingDeadLetters.add(deadLetter)
      void deadLetter.finally(() => this.pendingDeadLetters.delete(deadLetter))
    }
    return deadLetter
  }

  /** Writes the error of the last failed attempt, now that it is known what became of it. */
  private recordPendingFailure(
    call: RuntimeCall,
    willRetry: boolean,
    rejection?: { error: unknown; kind: StopReason },
  ): FailedAttemptInfo | undefined {
    const { draft, pending } = call
    call.pending = undefined
    if (draft === undefined) return pending
    // A refusal comes without an attempt before it, and its kind is why. A value that is not wanted is no error.
    const failure =
      rejection === undefined
        ? pending
        : {
            error: rejection.error,
            classification: { category: 'transient', kind: rejection.kind } as unknown as Classification,
            summary: this.summaryOf(draft, rejection.error),
          }
    if (failure?.classification !== undefined && !failure.isUnwantedValue)
      this.sinks.addError(call, draft, failure, willRetry)
    return failure
  }

  /** What records say of an error, made once for each. */
  private summaryOf(draft: SessionDraft, error: unknown): ErrorSummary {
    const existing = draft.summaries.get(error) ?? this.sinks.formatter().summarizeError(error)
    draft.summaries.set(error, existing)
    return existing
  }

  private createDraft(call: RuntimeCall): SessionDraft {
    const { clock, random, formatter } = this.sinks
    return createSessionDraft(call, { clock, random, shaping: formatter() })
  }
}

const contextField = ({ context }: SessionDraft) => (context === undefined ? {} : { context })
