import { report } from './report.js'

/** Functions to tell of events, one event at a time. One that throws is reported once and holds up nobody. */
export class Listeners<E> {
  private list: readonly ((event: E) => void)[] = []
  private readonly whose: string

  constructor(whose: string) {
    this.whose = whose
  }

  /** How many there are. */
  get size(): number {
    return this.list.length
  }

  /** Adds one, until the function it returns is called. */
  add(listener: (event: E) => void): () => void {
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

  /** Tells each of them. */
  emit(event: E): void {
    for (const entry of this.list) entry(event)
  }
}
