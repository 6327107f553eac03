import { bindContext } from './async-context.js'
import { optionProblem, throwIfInvalid } from './options.js'
import { reportOnce } from './report.js'

/** Listeners that get one event at a time. A listener that throws is reported once; the others still get the event. */
export class Listeners<E> {
  private listeners: readonly ((event: E) => void)[] = []
  private isEmitting = false
  /** Deliveries of events that were emitted while another event was being delivered. */
  private readonly queue: (() => void)[] = []
  private readonly owner: string

  constructor(owner: string) {
    this.owner = owner
  }

  /** The number of listeners. */
  get size(): number {
    return this.listeners.length
  }

  /** Adds a listener and returns the function that removes it. @throws INVALID_OPTIONS where the listener is not a function */
  add(listener: (event: E) => void): () => void {
    if (typeof listener !== 'function')
      throwIfInvalid(this.owner, [optionProblem('on', 'a function', listener)])
    const entry = (event: E) => {
      try {
        listener(event)
      } catch (error) {
        reportOnce(`a listener of ${this.owner}`, listener, error)
      }
    }
    this.listeners = [...this.listeners, entry]
    return () => {
      this.listeners = this.listeners.filter((other) => other !== entry)
    }
  }

  /** Delivers an event to each listener. An event that a listener causes is delivered after the current one. */
  emit(event: E): void {
    if (this.isEmitting) {
      // The event can belong to another call than the one being delivered, so its async context is saved.
      this.queue.push(bindContext(() => this.deliver(event)))
      return
    }
    this.isEmitting = true
    this.deliver(event)
    for (let current = this.queue.shift(); current !== undefined; current = this.queue.shift()) current()
    this.isEmitting = false
  }

  private deliver(event: E): void {
    for (const entry of this.listeners) entry(event)
  }
}
