import { bindContext } from './async-context.js'
import { refuse, show } from './options.js'
import { report } from './report.js'

/** Functions to tell of events, one event at a time. One that throws is reported once and holds up nobody. */
export class Listeners<E> {
  private list: readonly ((event: E) => void)[] = []
  private isEmitting = false
  /** Delivers events that came about while another was delivered. */
  private readonly queue: (() => void)[] = []
  private readonly whose: string

  constructor(whose: string) {
    this.whose = whose
  }

  /** How many there are. */
  get size(): number {
    return this.list.length
  }

  /** Adds one, until the function it returns is called. @throws INVALID_OPTIONS where it is none */
  add(listener: (event: E) => void): () => void {
    if (typeof listener !== 'function')
      refuse(`a listener of ${this.whose}`, [`on: got ${show(listener)}, takes a function`])
    const entry = (event: E) => {
      try {
        listener(event)
      } catch (error) {
        report(`a listener of ${this.whose}`, listener, error)
      }
    }
    this.list = [...this.list, entry]
    return () => {
      this.list = this.list.filter((other) => other !== entry)
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
    for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) next()
    this.isEmitting = false
  }

  private deliver(event: E): void {
    for (const entry of this.list) entry(event)
  }
}
