import type { BreakerEvent, CircuitBreaker, Clock, GuardEvent, StopReason } from 'holdfast'
import { Listeners } from 'holdfast/internal'
import { checkFunction } from '../call-options.js'
import type { CallEnd, CallObserver } from '../observation/call-observer.js'
import {
  type FailedAttemptInfo,
  type FailingCall,
  type ObservedCall,
  recordedName,
} from '../observation/observed-call.js'

type GuardCallEvent = Exclude<GuardEvent, { type: 'breaker_changed' }>

/** Emits the events of the guards that `hf.guard` returns, in the form that the guards of the core emit. */
export class GuardEventEmitter implements CallObserver {
  private readonly clock: Clock
  private readonly listenersByName = new Map<string, Listeners<GuardEvent>>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Whether any guard has a listener. */
  get hasListeners(): boolean {
    return this.listenersByName.size > 0
  }

  /** Adds a listener for the events of the calls with a name, and of the breakers that `breakers` returns at that time. */
  on(
    name: string,
    breakers: () => readonly CircuitBreaker[],
    listener: (event: GuardEvent) => void,
  ): () => void {
    checkFunction('on', listener)
    const listeners = this.listenersByName.get(name) ?? new Listeners<GuardEvent>(`the guard ${name}`)
    this.listenersByName.set(name, listeners)
    // Guards whose calls have the same name can have different breakers.
    const unsubscribe = listeners.add((event) => {
      if (event.type !== 'breaker_changed' || breakers().some(({ id }) => id === event.id)) listener(event)
    })
    return () => {
      unsubscribe()
      if (listeners.size === 0) this.listenersByName.delete(name)
    }
  }

  onSuccess(call: ObservedCall): void {
    if (this.hasListeners) this.emitCallEvent(call, 'succeeded', 1, {})
  }

  onAttemptFailed(call: FailingCall, { error, value, isUnwantedValue }: FailedAttemptInfo): void {
    if (!this.hasListeners) return
    const last = call.history.at(-1)
    this.emitCallEvent(call, 'attempt_failed', call.number, {
      ...(isUnwantedValue ? { value } : { error }),
      duration: last?.duration ?? 0,
      memberId: last?.memberId,
    })
  }

  onRetryScheduled(call: FailingCall, failure: FailedAttemptInfo | undefined, delayMs: number): void {
    if (!this.hasListeners) return
    const { number, maxAttempts } = call
    this.emitCallEvent(call, 'retry_scheduled', number + 1, {
      error: failure?.error,
      maxAttempts,
      delay: delayMs,
    })
  }

  beforeFallback(call: ObservedCall, stopped: StopReason, error: unknown): void {
    if (this.hasListeners) this.emitCallEvent(call, 'gave_up', call.number, { error, stopped })
  }

  onEnd(call: FailingCall, { isSuccess, stopped, result, hasRunFallback }: CallEnd): void {
    if (!this.hasListeners || hasRunFallback) return
    if (isSuccess) return this.emitCallEvent(call, 'succeeded', call.number, {})
    const facts = stopped === 'unwanted_value' ? { value: result } : { error: result }
    this.emitCallEvent(call, 'gave_up', call.number, { ...facts, stopped })
  }

  /** The state of a breaker changed. */
  emitBreakerEvent(event: BreakerEvent): void {
    for (const listeners of this.listenersByName.values())
      listeners.emit(Object.freeze({ type: 'breaker_changed', ...event } as const))
  }

  private emitCallEvent(
    call: ObservedCall,
    type: GuardCallEvent['type'],
    attempt: number,
    facts: object,
  ): void {
    const name = recordedName(call)
    const timestamp = this.clock.wall()
    const context = call.options?.context
    this.listenersByName
      .get(name)
      ?.emit(Object.freeze({ type, name, timestamp, attempt, context, ...facts }) as GuardEvent)
  }
}
