/** An event that waits for its time. */
export interface ScheduledEvent {
  readonly dueAt: number
  /** Orders events that are due at the same time. */
  readonly rank: number
  readonly fn: () => void
  /** Whether it was cancelled or has run. */
  isDone: boolean
}

const isBefore = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
  a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.rank < b.rank)

/** The length of the periods of time. Few events are due in one of them. */
const PERIOD_MS = 1000

/**
 * Events in the order of their times. Those of the current period are in a binary heap, the first one on top. Later ones wait in a list
 * for each period, because most of them are timers that are cancelled before their period begins.
 */
export class EventQueue {
  private readonly heap: ScheduledEvent[] = []
  private readonly later = new Map<number, ScheduledEvent[]>()
  private currentPeriod = 0

  push(event: ScheduledEvent): void {
    const period = Math.floor(event.dueAt / PERIOD_MS)
    if (period <= this.currentPeriod) return this.addToHeap(event)
    const events = this.later.get(period)
    if (events === undefined) this.later.set(period, [event])
    else events.push(event)
  }

  /** Removes and returns the first event that is not cancelled, if it is due at `end` or earlier. */
  popUntil(end: number): ScheduledEvent | undefined {
    const { heap } = this
    do {
      for (let first = heap[0]; first !== undefined; first = heap[0]) {
        if (first.dueAt > end) return undefined
        this.removeFirst()
        if (!first.isDone) return first
      }
    } while (this.beginNextPeriod(end))
    return undefined
  }

  /** Moves the events of the next period that has some to the heap. Returns false if that period begins after `end`. */
  private beginNextPeriod(end: number): boolean {
    while (this.later.size > 0 && (this.currentPeriod + 1) * PERIOD_MS <= end) {
      const events = this.later.get(++this.currentPeriod)
      if (events === undefined) continue
      this.later.delete(this.currentPeriod)
      for (const event of events) if (!event.isDone) this.addToHeap(event)
      return true
    }
    return false
  }

  private addToHeap(event: ScheduledEvent): void {
    const { heap } = this
    let at = heap.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent] as ScheduledEvent
      if (!isBefore(event, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = event
  }

  private removeFirst(): void {
    const { heap } = this
    const last = heap.pop()
    const { length } = heap
    if (last === undefined || length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= length) break
      const right = left + 1
      const child =
        right < length && isBefore(heap[right] as ScheduledEvent, heap[left] as ScheduledEvent) ? right : left
      const below = heap[child] as ScheduledEvent
      if (!isBefore(below, last)) break
      heap[at] = below
      at = child
    }
    heap[at] = last
  }
}
