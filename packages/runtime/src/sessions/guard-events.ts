import type { BreakerEvent, GuardEvent } from 'holdfast'
import { Listeners } from 'holdfast/internal'
import type { RuntimeCall } from '../execution/runtime-call.js'

type GuardCallEvent = Exclude<GuardEvent, { type: 'breaker_changed' }>

/** Tells those who hold a guard of an operation what happens to its calls, in the words of the engine. */
export class GuardEventEmitter {
  private readonly listenersByOperation = new Map<string, Listeners<GuardEvent>>()

  /** Whether anybody listens to anything. */
  get hasListeners(): boolean {
    return this.listenersByOperation.size > 0
  }

  on(operation: string, listener: (event: GuardEvent) => void): () => void {
    const listeners =
      this.listenersByOperation.get(operation) ?? new Listeners<GuardEvent>(`the guard ${operation}`)
    this.listenersByOperation.set(operation, listeners)
    const unsubscribe = listeners.add(listener)
    return () => {
      unsubscribe()
      if (listeners.size === 0) this.listenersByOperation.delete(operation)
    }
  }

  /** Something happened to a call. */
  emitCallEvent(
    call: RuntimeCall,
    timestamp: number,
    type: GuardCallEvent['type'],
    attempt: number,
    facts: object,
  ): void {
    const { options, operation } = call
    const name = options?.name ?? operation.name
    this.listenersByOperation
      .get(name)
      ?.emit(
        Object.freeze({ type, name, timestamp, attempt, context: options?.context, ...facts }) as GuardEvent,
      )
  }

  /** A breaker changed that stands before an operation. */
  emitBreakerEvent(operation: string, event: BreakerEvent): void {
    this.listenersByOperation
      .get(operation)
      ?.emit(Object.freeze({ type: 'breaker_changed', ...event } as const))
  }

  /** The operations that anybody listens to. */
  observedOperations(): Iterable<string> {
    return this.listenersByOperation.keys()
  }
}
