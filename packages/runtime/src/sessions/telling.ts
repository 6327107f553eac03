import type { BreakerEvent, GuardEvent } from 'holdfast'
import { Listeners } from 'holdfast/internal'
import type { RuntimeCall } from '../calls/call.js'

type CallEvent = Exclude<GuardEvent, { type: 'breaker_changed' }>

/** Tells those who hold a guard of an operation what happens to its calls, in the words of the engine. */
export class Telling {
  private readonly heard = new Map<string, Listeners<GuardEvent>>()

  /** Whether anybody listens to anything. */
  get any(): boolean {
    return this.heard.size > 0
  }

  on(operation: string, listener: (event: GuardEvent) => void): () => void {
    const listeners = this.heard.get(operation) ?? new Listeners<GuardEvent>(`the guard ${operation}`)
    this.heard.set(operation, listeners)
    const off = listeners.add(listener)
    return () => {
      off()
      if (listeners.size === 0) this.heard.delete(operation)
    }
  }

  /** Something happened to a call. */
  call(call: RuntimeCall, timestamp: number, type: CallEvent['type'], attempt: number, facts: object): void {
    const { given, line } = call
    const name = given?.name ?? line.operation
    this.heard
      .get(name)
      ?.emit(
        Object.freeze({ type, name, timestamp, attempt, context: given?.context, ...facts }) as GuardEvent,
      )
  }

  /** A breaker changed that stands before an operation. */
  breaker(operation: string, event: BreakerEvent): void {
    this.heard.get(operation)?.emit(Object.freeze({ type: 'breaker_changed', ...event } as const))
  }

  /** The operations that anybody listens to. */
  operations(): Iterable<string> {
    return this.heard.keys()
  }
}
