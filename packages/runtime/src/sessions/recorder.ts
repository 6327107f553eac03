import type { Classification, Clock, Random, StopReason } from 'holdfast'
import type { Draft, Failure, RuntimeCall } from '../calls/call.js'
import type { Line } from '../calls/line.js'
import type { Active, Recorder } from '../calls/recorder.js'
import type { CallOptions } from '../face.js'
import type { EventInput } from '../kit.js'
import type { RetryLog } from '../logging/retry-log.js'
import { extended } from '../records/own.js'
import type { ErrorSummary, RetrySession } from '../records/session.js'
import { ActiveCalls } from './active.js'
import { newDraft } from './draft.js'
import { type Shaping, sessionRecord } from './session.js'
import { shadowEvent } from './shadow.js'
import { Telling } from './telling.js'

/** Where what was recorded goes. */
export interface RecorderPorts {
  clock: Clock
  random: Random
  log: RetryLog
  shaping(): Shaping
  emit(event: EventInput): void
  session(record: RetrySession): void
  /** An attempt failed, and it is known what became of it. */
  error(call: RuntimeCall, draft: Draft, failure: Failure, willRetry: boolean): void
  /** A member of a pool ended an attempt. */
  member(pool: string, member: string, ok: boolean, duration: number): void
  /** Keeps a failed call's payload; resolves when it is kept, or when it cannot be. */
  deadLetter(call: RuntimeCall, draft: Draft, error: unknown): Promise<unknown> | undefined
  /** Something in here went wrong: it is told, and the call goes on. */
  trouble(error: unknown): void
}

/** A failure in a line of the log. */
const sayOf = (error: ErrorSummary | null | undefined): string =>
  error ? `${error.type}: ${error.message}` : 'a value that is not wanted'

/** Writes down what calls did. Nothing of it can fail a call. */
export class CallRecorder implements Recorder {
  readonly active = new ActiveCalls()
  /** Those who hold guards of operations. */
  readonly telling = new Telling()
  /** What is being kept of calls that ended. */
  private readonly letters = new Set<Promise<unknown>>()
  private readonly ports: RecorderPorts

  constructor(ports: RecorderPorts) {
    this.ports = ports
  }

  began(call: Active): void {
    this.active.add(call)
  }

  left(call: Active): void {
    this.active.remove(call)
  }

  firstTry(call: Active, line: Line, given: CallOptions | undefined, startedAt: number): void {
    this.active.remove(call)
    line.tally.success(startedAt)
    if (this.ports.log.heard) this.ports.log.first(given?.name ?? line.operation)
  }

  failed(call: RuntimeCall, threw: boolean, result: unknown, known: Classification | undefined): void {
    const error = threw ? result : undefined
    try {
      const draft = (call.draft ??= this.draft(call))
      const { present, history } = call
      const { id } = present.record
      draft.policyId = id
      if (!draft.policyIds.includes(id)) draft.policyIds.push(id)
      draft.kind = known?.kind ?? 'unknown'
      draft.nextRetryTime = undefined
      const pending = { error, known, summary: this.summary(draft, error), unwanted: !threw }
      call.pending = pending
      const last = history.at(-1)
      if (last !== undefined) this.attempt(call, false, last.duration, draft.kind)
      this.tellShadow(call)
      if (this.telling.any)
        this.tell(call, 'attempt_failed', call.number, {
          ...(threw ? { error: result } : { value: result }),
          duration: last?.duration ?? 0,
          memberId: last?.memberId,
        })
    } catch (trouble) {
      this.ports.trouble(trouble)
    }
  }

  waits(call: RuntimeCall, wait: number): void {
    const { clock, log, emit } = this.ports
    try {
      const { draft, present, line, given, number } = call
      if (draft === undefined) return
      const operation = given?.name ?? line.operation
      const failure = this.settle(call, true)
      // A value that is not wanted is no error.
      const error = failure?.unwanted ? undefined : failure?.summary
      const { maxAttempts } = call
      const { id: policyId } = present.record
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
        ...contextOf(draft),
      })
      log.retry(operation, number + 1, maxAttempts, wait, sayOf(error))
      if (this.telling.any)
        this.tell(call, 'retry_scheduled', number + 1, { error: failure?.error, maxAttempts, delay: wait })
    } catch (trouble) {
      this.ports.trouble(trouble)
    }
  }

  ended(call: RuntimeCall, stopped: StopReason, result: unknown): Promise<unknown> | undefined {
    const { line, given, startedAt, member } = call
    this.tellShadow(call)
    if (call.draft === undefined && stopped === 'succeeded') {
      this.firstTry(call, line, given, startedAt)
      if (this.telling.any) this.tell(call, 'succeeded', 1, {})
      if (member !== undefined) this.member(call, true, this.ports.clock.now() - startedAt)
      return undefined
    }
    this.active.remove(call)
    try {
      this.finish(call, (call.draft ??= this.draft(call)), stopped, result)
    } catch (trouble) {
      this.ports.trouble(trouble)
    }
    if (this.telling.any) {
      const success = stopped === 'succeeded'
      const facts = stopped === 'unwanted_value' ? { value: result } : { error: result }
      this.tell(call, success ? 'succeeded' : 'gave_up', call.number, success ? {} : { ...facts, stopped })
    }
    return this.keep(call, stopped, result)
  }

  /** Resolves when everything that is to be kept is kept. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.letters)
  }

  /** Records of those that have failed at least once and still run, newest first. */
  running(): RetrySession[] {
    return [...this.active.failing()].map((call) => this.recordOf(call))
  }

  /** The record of one that runs. */
  recordOf(call: RuntimeCall): RetrySession {
    const { clock, shaping } = this.ports
    return sessionRecord(call, call.draft as Draft, undefined, clock.wall(), shaping())
  }

  find(sessionId: string): RuntimeCall | undefined {
    for (const call of this.active.failing()) if (call.draft?.sessionId === sessionId) return call
    return undefined
  }

  /** Tells what a policy that only looks on would have done, where that is not told yet. */
  private tellShadow(call: RuntimeCall): void {
    const { draft } = call
    const foreseen = call.admission?.takeForesight()
    if (foreseen === undefined) return
    const { error, happened } = foreseen
    const { shaping, emit, trouble } = this.ports
    try {
      const summary = happened && draft !== undefined ? this.summary(draft, error) : shaping().error(error)
      emit(shadowEvent(call, foreseen, summary))
    } catch (thrown) {
      trouble(thrown)
    }
  }

  private tell(
    call: RuntimeCall,
    type: 'attempt_failed' | 'retry_scheduled' | 'succeeded' | 'gave_up',
    attempt: number,
    facts: object,
  ): void {
    this.telling.call(call, this.ports.clock.wall(), type, attempt, facts)
  }

  private attempt(call: RuntimeCall, ok: boolean, duration: number, kind?: string): void {
    call.line.tally.attempt(ok, duration, kind)
    if (call.member !== undefined) this.member(call, ok, duration)
  }

  private member(call: RuntimeCall, ok: boolean, duration: number): void {
    const { member, given } = call
    if (member !== undefined && given?.pool !== undefined)
      this.ports.member(given.pool, member.id, ok, Math.max(0, duration))
  }

  private finish(call: RuntimeCall, draft: Draft, stopped: StopReason, result: unknown): void {
    const { clock, log, emit, shaping } = this.ports
    const { line, history } = call
    const success = stopped === 'succeeded'
    const at = clock.wall()
    if (draft.policyIds.length === 0) draft.policyIds.push(draft.policyId)
    const refused = history.at(-1)?.outcome === 'circuit_open'
    if (refused) draft.kind = stopped
    if (success) this.attempt(call, true, history.at(-1)?.duration ?? 0)
    else this.settle(call, false, refused ? { error: result, kind: stopped } : undefined)
    if (!success && stopped !== 'unwanted_value') this.summary(draft, result)
    const record = sessionRecord(call, draft, { stopped, result, at }, at, shaping())
    this.ports.session(record)
    line.tally.ended({
      success,
      attempts: record.totalAttempts,
      duration: record.totalDuration,
      policyIds: draft.policyIds,
      kind: refused ? stopped : undefined,
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
      ...(success ? contextOf(draft) : { context: extended(draft.context, { stopped }) }),
    })
    if (success) log.recovered(operation, record.retryCount)
    else {
      log.exhausted(operation, call.number, stopped, sayOf(finalError))
    }
  }

  /** Keeps the payload of a call that ended in failure, whatever became of its records. */
  private keep(call: RuntimeCall, stopped: StopReason, error: unknown): Promise<unknown> | undefined {
    const { given, draft } = call
    if (given?.payload === undefined || draft === undefined) return undefined
    if (stopped === 'succeeded' || stopped === 'aborted' || stopped === 'unwanted_value') return undefined
    const letter = this.ports.deadLetter(call, draft, error)
    if (letter !== undefined) {
      this.letters.add(letter)
      void letter.finally(() => this.letters.delete(letter))
    }
    return letter
  }

  /** Writes the error of the last failed attempt, now that it is known what became of it. */
  private settle(
    call: RuntimeCall,
    willRetry: boolean,
    refusal?: { error: unknown; kind: StopReason },
  ): Failure | undefined {
    const { draft, pending } = call
    call.pending = undefined
    if (draft === undefined) return pending
    // A refusal comes without an attempt before it, and its kind is why. A value that is not wanted is no error.
    const failure =
      refusal === undefined
        ? pending
        : {
            error: refusal.error,
            known: { category: 'transient', kind: refusal.kind } as unknown as Classification,
            summary: this.summary(draft, refusal.error),
          }
    if (failure?.known !== undefined && !failure.unwanted) this.ports.error(call, draft, failure, willRetry)
    return failure
  }

  /** What records say of an error, made once for each. */
  private summary(draft: Draft, error: unknown): ErrorSummary {
    const known = draft.summaries.get(error) ?? this.ports.shaping().error(error)
    draft.summaries.set(error, known)
    return known
  }

  private draft(call: RuntimeCall): Draft {
    const { clock, random, shaping } = this.ports
    return newDraft(call, { clock, random, shaping: shaping() })
  }
}

const contextOf = ({ context }: Draft) => (context === undefined ? {} : { context })
