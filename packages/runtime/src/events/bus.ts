import { copyForReader, EVENT_TYPES, type EventType, type RetryEvent } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import { type AsyncScope, captureContext, reportOnce, runInContext } from 'holdfast/internal'

/** How many events may wait for a listener that has not finished with an earlier one. */
const MAX_QUEUED_EVENTS = 10_000

/** An event for one listener: what it does to it is seen by nobody else. What an event holds is frozen. */
function copyForListener(event: RetryEvent): RetryEvent {
  const copy = { ...event, timestamp: new Date(event.timestamp) }
  if (copy.context) copy.context = copyForReader(copy.context)
  return copy
}

/** Told how many events a listener was too slow for, since it was told last. */
type OnDropped = (count: number, type: EventType | '*') => void

/** One listener with the events it has not heard yet. It gets the next one when it is done with the last. */
class Subscriber {
  private queue: { event: RetryEvent; scope: AsyncScope | undefined }[] = []
  private isBusy = false
  /** How many were dropped since it last kept up, and how many of them have been told of. */
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

  /** Hears nothing more, not even what waits. */
  close(): void {
    this.queue = []
    this.reportDropped()
  }

  private dropEvent({ eventType }: RetryEvent): void {
    // That events are dropped is for others to hear.
    if (eventType === 'events_dropped') return
    // One that never returns never keeps up either, so it is told of at once, and again when it has got ten times as bad.
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

/** Tells listeners what happens, each in order and one event at a time. None of them holds up a call or another one. */
export class EventBus {
  private subscribers: readonly Subscriber[] = []
  private readonly onDropped: OnDropped

  /** `onDropped` is told how many events a listener was too slow for. */
  constructor(dropped: OnDropped) {
    this.onDropped = dropped
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
