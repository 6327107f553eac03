import { copyForReader, EVENT_TYPES, type EventType, type RetryEvent } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import { type AsyncScope, captureContext, reportOnce, runInContext } from 'holdfast/internal'

/** How many events can wait for a listener that is still handling an earlier one. */
const MAX_QUEUED_EVENTS = 10_000

/**
 * A copy of an event for one listener, so that its changes do not reach other listeners. The data inside the event is
 * frozen.
 */
function copyForListener(event: RetryEvent): RetryEvent {
  const copy = { ...event, timestamp: new Date(event.timestamp) }
  if (copy.context) copy.context = copyForReader(copy.context)
  return copy
}

/** Reports how many events a listener was too slow for since the last report. */
type OnDropped = (count: number, type: EventType | '*') => void

/** A listener and its queue. It gets the next event when it has handled the previous one. */
class Subscriber {
  private queue: { event: RetryEvent; scope: AsyncScope | undefined }[] = []
  private isBusy = false
  /** How many events were dropped since the listener last kept up, and how many of them have been reported. */
  private dropped = 0
  private reportedDropped = 0
  private readonly type: EventType | '*'
  private readonly listener: (event: RetryEvent) => unknown
  private readonly onDropped: OnDropped

  constructor(type: EventType | '*', listener: (event: RetryEvent) => unknown, dropped: OnDropped) {
    this.type = type
    this.listener = listener
    this.onDropped = dropped
  }

  enqueue(event: RetryEvent): void {
    if (this.type !== '*' && this.type !== event.eventType) return
    if (this.queue.length >= MAX_QUEUED_EVENTS) this.dropEvent(event)
    else if (this.isBusy) this.queue.push({ event, scope: captureContext() })
    else {
      this.queue.push({ event, scope: undefined })
      this.deliverNext()
    }
  }

  /** Ends the subscription and drops its queue. */
  close(): void {
    this.queue = []
    this.reportDropped()
  }

  private dropEvent({ eventType }: RetryEvent): void {
    // A slow listener must not cause more `events_dropped` events by dropping this one.
    if (eventType === 'events_dropped') return
    // A listener that never returns never keeps up, so the first drop is reported at once and then each tenfold number.
    if (++this.dropped >= 10 * this.reportedDropped) this.reportDropped()
  }

  private reportDropped(): void {
    const count = this.dropped - this.reportedDropped
    this.reportedDropped = this.dropped
    if (count > 0) this.onDropped(count, this.type)
  }

  private deliverNext(): void {
    for (let entry = this.queue.shift(); entry !== undefined; entry = this.queue.shift()) {
      const { event, scope } = entry
      this.isBusy = true
      let result: unknown
      try {
        result = runInContext(scope, () => this.listener(copyForListener(event)))
      } catch (error) {
        reportOnce('a listener of events', this.listener, error)
      }
      if (typeof (result as PromiseLike<unknown> | undefined)?.then === 'function') {
        const deliverMore = () => {
          this.isBusy = false
          this.deliverNext()
        }
        Promise.resolve(result).then(deliverMore, (error) => {
          reportOnce('a listener of events', this.listener, error)
          deliverMore()
        })
        return
      }
      this.isBusy = false
    }
    this.reportDropped()
    this.dropped = 0
    this.reportedDropped = 0
  }
}

/**
 * Delivers events to listeners, in order and one at a time for each. A listener delays neither calls nor other listeners.
 */
export class EventBus {
  private subscribers: readonly Subscriber[] = []
  private readonly onDropped: OnDropped

  /** `onDropped` receives the number of events that a listener was too slow for. */
  constructor(dropped: OnDropped) {
    this.onDropped = dropped
  }

  /** @throws INVALID_OPTIONS for an unknown type, or a listener that is not a function */
  on(type: EventType | '*', listener: (event: RetryEvent) => unknown): () => void {
    if (type !== '*' && !EVENT_TYPES.includes(type))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `events.on: expected the type * or one of ${EVENT_TYPES.join(', ')}, got ${String(type)}`,
      )
    if (typeof listener !== 'function')
      throw new HoldfastError('INVALID_OPTIONS', `events.on: expected a function, got ${typeof listener}`)
    const subscriber = new Subscriber(type, listener, this.onDropped)
    this.subscribers = [...this.subscribers, subscriber]
    return () => {
      this.subscribers = this.subscribers.filter((other) => other !== subscriber)
      subscriber.close()
    }
  }

  publish(event: RetryEvent): void {
    for (const subscriber of this.subscribers) subscriber.enqueue(event)
  }
}
