import { bindContext } from './async-context.js'
import { optionProblem, throwIfInvalid } from './options.js'
import { reportOnce } from './report.js'

/** Functions to tell of events, one event at a time. One that throws is reported once and holds up nobody. */
export class Listeners<E> {
  private listeners: readonly ((event: E) => void)[] = []
  private isEmitting = false
  /** Delivers events that came about while another was delivered. */
  private readonly queue: (() => void)[] = []
  private readonly owner: string

  constructor(whose: string) {
    this.owner = whose
  }

  /** How many there are. */
  get size(): number {
    return this.listeners.length
  }

  /** Adds one, until the function it returns is called. @throws INVALID_OPTIONS where it is none */
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

  /** Tells each of them; of an event that a listener brings about, after the one it was told of. */
  emit(event: E): void {
    if (this.isEmitting) {
      // The caller that this event belongs to may not be the one whose event is being delivered.
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
