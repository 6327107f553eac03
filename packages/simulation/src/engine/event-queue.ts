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

/** A binary heap of events, the first one on top. Cancelled events are skipped when they reach the top. */
export class EventQueue {
  private readonly heap: ScheduledEvent[] = []

  push(event: ScheduledEvent): void {
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

  /** Removes and returns the first event that is not cancelled, if it is due at `end` or earlier. */
  popUntil(end: number): ScheduledEvent | undefined {
    const { heap } = this
    for (let first = heap[0]; first !== undefined && first.dueAt <= end; first = heap[0]) {
      this.removeFirst()
      if (!first.isDone) return first
    }
    return undefined
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
