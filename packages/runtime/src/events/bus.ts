import { HoldfastError } from 'holdfast'
import { type AsyncScope, captureContext, reportOnce, runInContext } from 'holdfast/internal'
import { handedOut } from '../records/own.js'
import { EVENT_TYPES, type EventType, type RetryEvent } from '../records/session.js'

/** How many events may wait for a listener that has not finished with an earlier one. */
const PATIENCE = 10_000

/** An event for one listener: what it does to it is seen by nobody else. What an event holds is frozen. */
function forOne(event: RetryEvent): RetryEvent {
  const own = { ...event, timestamp: new Date(event.timestamp) }
  if (own.context) own.context = handedOut(own.context)
  return own
}

/** Told how many events a listener was too slow for, since it was told last. */
type Dropped = (count: number, type: EventType | '*') => void

/** One listener with the events it has not heard yet. It gets the next one when it is done with the last. */
class Subscriber {
  private queue: { event: RetryEvent; scope: AsyncScope | undefined }[] = []
  private busy = false
  /** How many were dropped since it last kept up, and how many of them have been told of. */
  private lost = 0
  private toldOf = 0
  private readonly type: EventType | '*'
  private readonly listener: (event: RetryEvent) => unknown
  private readonly dropped: Dropped

  constructor(type: EventType | '*', listener: (event: RetryEvent) => unknown, dropped: Dropped) {
    this.type = type
    this.listener = listener
    this.dropped = dropped
  }

  offer(event: RetryEvent): void {
    if (this.type !== '*' && this.type !== event.eventType) return
    if (this.queue.length >= PATIENCE) this.drop(event)
    else if (this.busy) this.queue.push({ event, scope: captureContext() })
    else {
      this.queue.push({ event, scope: undefined })
      this.next()
    }
  }

  /** Hears nothing more, not even what waits. */
  forget(): void {
    this.queue = []
    this.tell()
  }

  private drop({ eventType }: RetryEvent): void {
    // That events are dropped is for others to hear.
    if (eventType === 'events_dropped') return
    // One that never returns never keeps up either, so it is told of at once, and again when it has got ten times as bad.
    if (++this.lost >= 10 * this.toldOf) this.tell()
  }

  private tell(): void {
    const count = this.lost - this.toldOf
    this.toldOf = this.lost
    if (count > 0) this.dropped(count, this.type)
  }

  private next(): void {
    for (let entry = this.queue.shift(); entry !== undefined; entry = this.queue.shift()) {
      const { event, scope } = entry
      this.busy = true
      let told: unknown
      try {
        told = runInContext(scope, () => this.listener(forOne(event)))
      } catch (error) {
        reportOnce('a listener of events', this.listener, error)
      }
      if (typeof (told as PromiseLike<unknown> | undefined)?.then === 'function') {
        const go = () => {
          this.busy = false
          this.next()
        }
        Promise.resolve(told).then(go, (error) => {
          reportOnce('a listener of events', this.listener, error)
          go()
        })
        return
      }
      this.busy = false
    }
    this.tell()
    this.lost = 0
    this.toldOf = 0
  }
}

/** Tells listeners what happens, each in order and one event at a time. None of them holds up a call or another one. */
export class EventBus {
  private subscribers: readonly Subscriber[] = []
  private readonly dropped: Dropped

  /** `dropped` is told how many events a listener was too slow for. */
  constructor(dropped: Dropped) {
    this.dropped = dropped
  }

  /** @throws INVALID_OPTIONS for a type that is none, or a listener that is no function */
  on(type: EventType | '*', listener: (event: RetryEvent) => unknown): () => void {
    if (type !== '*' && !EVENT_TYPES.includes(type))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `events.on: got the type ${String(type)}, takes * or one of ${EVENT_TYPES.join(', ')}`,
      )
    if (typeof listener !== 'function')
      throw new HoldfastError('INVALID_OPTIONS', `events.on: got ${typeof listener}, takes a function`)
    const subscriber = new Subscriber(type, listener, this.dropped)
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
