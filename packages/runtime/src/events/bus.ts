import { HoldfastError } from 'holdfast'
import { report } from 'holdfast/engine'
import { EVENT_TYPES, type EventType, type RetryEvent } from '../records/session.js'

/** How many events may wait for a listener that has not finished with an earlier one. */
const PATIENCE = 10_000

/** One listener with the events it has not heard yet. It gets the next one when it is done with the last. */
class Subscriber {
  private queue: RetryEvent[] = []
  private busy = false
  private readonly type: EventType | '*'
  private readonly listener: (event: RetryEvent) => unknown
  private readonly dropped: () => void

  constructor(type: EventType | '*', listener: (event: RetryEvent) => unknown, dropped: () => void) {
    this.type = type
    this.listener = listener
    this.dropped = dropped
  }

  offer(event: RetryEvent): void {
    if (this.type !== '*' && this.type !== event.eventType) return
    if (this.queue.length >= PATIENCE) this.dropped()
    else {
      this.queue.push(event)
      if (!this.busy) this.next()
    }
  }

  /** Hears nothing more, not even what waits. */
  forget(): void {
    this.queue = []
  }

  private next(): void {
    for (let event = this.queue.shift(); event !== undefined; event = this.queue.shift()) {
      this.busy = true
      let told: unknown
      try {
        told = this.listener(event)
      } catch (error) {
        report('a listener of events', this.listener, error)
      }
      if (typeof (told as PromiseLike<unknown> | undefined)?.then === 'function') {
        const go = () => {
          this.busy = false
          this.next()
        }
        Promise.resolve(told).then(go, (error) => {
          report('a listener of events', this.listener, error)
          go()
        })
        return
      }
      this.busy = false
    }
  }
}

/** Tells listeners what happens, each in order and one event at a time. None of them holds up a call or another one. */
export class EventBus {
  private subscribers: readonly Subscriber[] = []
  /** Events that a listener was too slow for. */
  dropped = 0

  /** @throws INVALID_OPTIONS for a type that is none, or a listener that is no function */
  on(type: EventType | '*', listener: (event: RetryEvent) => unknown): () => void {
    if (type !== '*' && !EVENT_TYPES.includes(type))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `events.on: got the type ${String(type)}, takes * or one of ${EVENT_TYPES.join(', ')}`,
      )
    if (typeof listener !== 'function')
      throw new HoldfastError('INVALID_OPTIONS', `events.on: got ${typeof listener}, takes a function`)
    const subscriber = new Subscriber(type, listener, () => this.dropped++)
    this.subscribers = [...this.subscribers, subscriber]
    return () => {
      this.subscribers = this.subscribers.filter((other) => other !== subscriber)
      subscriber.forget()
    }
  }

  tell(event: RetryEvent): void {
    for (const subscriber of this.subscribers) subscriber.offer(event)
  }
}
