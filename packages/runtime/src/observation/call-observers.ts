import type { Classification, Clock, Random, StopReason } from 'holdfast'
import type { CallOptions } from '../api-types.js'
import { roundToMicroseconds } from '../round.js'
import { ActiveCalls } from './active-calls.js'
import type { CallEnd, CallObserver } from './call-observer.js'
import type {
  ActiveCall,
  FailedAttemptInfo,
  FailingCall,
  ObservedCall,
  SessionDraft,
} from './observed-call.js'
import type { RejectionLimiter } from './rejection-limiter.js'
import { createSessionDraft, createShedDraft, type RecordFormatter, summaryOf } from './session-draft.js'

export interface CallObserversParts {
  clock: Clock
  random: Random
  formatter: RecordFormatter
  rejectionLimiter: RejectionLimiter
  /** An observer threw. */
  onObserverError(error: unknown): void
}

/** Whether a fallback that has run returned a value. */
interface FallbackEnd {
  readonly isServed: boolean
}

type Hook = keyof CallObserver
type ObserverWith<H extends Hook> = CallObserver & Required<Pick<CallObserver, H>>

const observersWith = <H extends Hook>(observers: readonly CallObserver[], hook: H): ObserverWith<H>[] =>
  observers.filter((observer): observer is ObserverWith<H> => observer[hook] !== undefined)

/** Notifies the observers of calls, in their order, and keeps the list of active calls. No method throws. */
export class CallObservers {
  readonly active = new ActiveCalls()
  private readonly parts: CallObserversParts
  // One list per hook, so that an observer without it costs nothing.
  private readonly firstAttemptObservers: readonly ObserverWith<'onFirstAttemptSuccess'>[]
  private readonly successObservers: readonly ObserverWith<'onSuccess'>[]
  private readonly failureObservers: readonly ObserverWith<'onAttemptFailed'>[]
  private readonly retryObservers: readonly ObserverWith<'onRetryScheduled'>[]
  private readonly fallbackObservers: readonly ObserverWith<'beforeFallback'>[]
  private readonly endObservers: readonly ObserverWith<'onEnd'>[]
  private readonly rejectionObservers: readonly ObserverWith<'beforeRejection'>[]

  constructor(parts: CallObserversParts, observers: readonly CallObserver[]) {
    this.parts = parts
    this.firstAttemptObservers = observersWith(observers, 'onFirstAttemptSuccess')
    this.successObservers = observersWith(observers, 'onSuccess')
    this.failureObservers = observersWith(observers, 'onAttemptFailed')
    this.retryObservers = observersWith(observers, 'onRetryScheduled')
    this.fallbackObservers = observersWith(observers, 'beforeFallback')
    this.endObservers = observersWith(observers, 'onEnd')
    this.rejectionObservers = observersWith(observers, 'beforeRejection')
  }

  /** A call succeeded with its first attempt. */
  onFirstAttemptSuccess(
    call: ActiveCall,
    operation: ObservedCall['operation'],
    options: CallOptions<unknown> | undefined,
    startedAt: number,
  ): void {
    this.active.remove(call)
    for (const observer of this.firstAttemptObservers)
      observer.onFirstAttemptSuccess(operation, options, startedAt)
  }

  /** An attempt failed; `result` is its error, or with `hasThrown` false the value that `retryIf` rejects. */
  onAttemptFailed(
    call: ObservedCall,
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
  ): void {
    try {
      this.recordFailure(call, hasThrown, result, classification)
    } catch (error) {
      this.parts.onObserverError(error)
    }
    const { pending } = call
    if (!isFailing(call) || pending === undefined) return
    for (const observer of this.failureObservers) {
      try {
        observer.onAttemptFailed(call, pending)
      } catch (error) {
        this.parts.onObserverError(error)
      }
    }
  }

  /** The failed attempt is retried after `delayMs`. */
  onRetryScheduled(call: ObservedCall, delayMs: number): void {
    const { pending } = call
    if (!isFailing(call)) return
    call.pending = undefined
    for (const observer of this.retryObservers) {
      try {
        observer.onRetryScheduled(call, pending, delayMs)
      } catch (error) {
        this.parts.onObserverError(error)
      }
    }
  }

  /** The call failed with `error`, and its fallback runs now. */
  onFallback(call: ObservedCall, stopped: StopReason, error: unknown): void {
    for (const observer of this.fallbackObservers) {
      try {
        observer.beforeFallback(call, stopped, error)
      } catch (thrown) {
        this.parts.onObserverError(thrown)
      }
    }
  }

  /**
   * The call ended. One that failed rejects only after the returned promise has settled. `fallback` is set where a fallback has
   * run.
   */
  onEnd(
    call: ObservedCall,
    stopped: StopReason,
    result: unknown,
    fallback?: FallbackEnd,
  ): PromiseLike<unknown> | undefined {
    if (call.draft === undefined && stopped === 'succeeded') {
      this.onFirstAttemptSuccess(call, call.operation, call.options, call.startedAt)
      this.notifySuccess(call)
      return undefined
    }
    this.active.remove(call)
    try {
      const isShed = isRejection(call) && !this.parts.rejectionLimiter.admit(call.operation.name, stopped)
      const draft = (call.draft ??= isShed
        ? createShedDraft(call, this.parts.clock)
        : createSessionDraft(call, this.parts))
      const end = this.describeEnd(call, draft, stopped, result, fallback, isShed)
      return this.notifyEnd(call as FailingCall, end)
    } catch (error) {
      this.parts.onObserverError(error)
      return undefined
    }
  }

  private notifySuccess(call: ObservedCall): void {
    for (const observer of this.successObservers) {
      try {
        observer.onSuccess(call)
      } catch (error) {
        this.parts.onObserverError(error)
      }
    }
  }

  private notifyEnd(call: FailingCall, end: CallEnd): PromiseLike<unknown> | undefined {
    const { onObserverError } = this.parts
    for (const observer of this.endObservers) {
      try {
        observer.onEnd(call, end)
      } catch (error) {
        onObserverError(error)
      }
    }
    if (end.isSuccess || end.served !== undefined) return undefined
    let settled: PromiseLike<unknown> | undefined
    for (const observer of this.rejectionObservers) {
      try {
        const stored = observer.beforeRejection(call, end)
        if (stored !== undefined)
          settled = settled === undefined ? stored : Promise.allSettled([settled, stored])
      } catch (error) {
        onObserverError(error)
      }
    }
    return settled
  }

  /** Updates the draft of a call by a failed attempt. */
  private recordFailure(
    call: ObservedCall,
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
  ): void {
    const draft = (call.draft ??= createSessionDraft(call, this.parts))
    const { id } = call.effectivePolicy.record
    draft.policyId = id
    if (!draft.policyIds.includes(id)) draft.policyIds.push(id)
    draft.kind = classification?.kind ?? 'unknown'
    draft.nextRetryTime = undefined
    const error = hasThrown ? result : undefined
    const summary = summaryOf(draft, error, this.parts.formatter)
    call.pending = { error, value: result, classification, summary, isUnwantedValue: !hasThrown }
  }

  private describeEnd(
    call: ObservedCall,
    draft: SessionDraft,
    stopped: StopReason,
    result: unknown,
    fallback: FallbackEnd | undefined,
    isShed: boolean,
  ): CallEnd {
    const { clock, formatter, onObserverError } = this.parts
    const { history, pending } = call
    call.pending = undefined
    const last = history.at(-1)
    const isSuccess = stopped === 'succeeded'
    const isRejected = isRejection(call)
    const at = clock.wall()
    if (draft.policyIds.length === 0) draft.policyIds.push(draft.policyId)
    if (isRejected) draft.kind = stopped
    const end = {
      stopped,
      result,
      isSuccess,
      isRejected,
      isShed,
      at,
      attempts: history.length,
      retryCount: Math.max(0, (last?.number ?? 1) - 1),
      durationMs: roundToMicroseconds(Math.max(0, at - draft.startTime.getTime())),
      failure: isSuccess || isRejected ? undefined : pending,
      served: fallback?.isServed ? ('fallback' as const) : undefined,
      hasRunFallback: fallback !== undefined,
      error: undefined as CallEnd['error'],
    }
    if (isSuccess || isShed) return end
    try {
      if (isRejected) end.failure = createRejection(result, stopped, summaryOf(draft, result, formatter))
      if (stopped !== 'unwanted_value') end.error = summaryOf(draft, result, formatter)
    } catch (error) {
      // The caller's error could not be summarized; the call is recorded without it.
      onObserverError(error)
    }
    return end
  }
}

/** Whether the last attempt was rejected before it started. Records have the outcome `circuit_open` for every rejection. */
const isRejection = ({ history }: ObservedCall): boolean => history.at(-1)?.outcome === 'circuit_open'

const isFailing = (call: ObservedCall): call is FailingCall => call.draft !== undefined

/** A rejected call made no attempt; its stop reason is recorded as the kind of its failure. */
const createRejection = (
  error: unknown,
  kind: StopReason,
  summary: FailedAttemptInfo['summary'],
): FailedAttemptInfo => ({
  error,
  classification: { category: 'transient', kind } as unknown as Classification,
  summary,
})
