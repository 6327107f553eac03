import type { DeadLetter } from '@holdfast/records'

/** How many candidates the store may lease from at a time. */
const WINDOW_SIZE = 100

/** The entries that a batch may replay, found before the batch starts. */
export class BatchCandidates {
  private readonly operationById = new Map<string, string>()
  /** Candidates that were neither leased nor dropped, oldest first. */
  private readonly remaining = new Set<string>()
  private currentWindow: readonly string[] | undefined = undefined

  add({ dlqId, operationType }: DeadLetter): void {
    this.operationById.set(dlqId, operationType)
    this.remaining.add(dlqId)
  }

  /** The next candidates. The same array until one of them is removed or dropped. */
  get window(): readonly string[] {
    if (this.currentWindow === undefined) {
      const ids: string[] = []
      for (const id of this.remaining) if (ids.push(id) === WINDOW_SIZE) break
      this.currentWindow = ids
    }
    return this.currentWindow
  }

  /** Removes a candidate that was leased. */
  remove(id: string): void {
    if (this.remaining.delete(id)) this.currentWindow = undefined
  }

  /** Removes the candidates of a window that could not be leased, unless the window has changed meanwhile. */
  drop(window: readonly string[]): void {
    if (window !== this.currentWindow) return
    for (const id of window) this.remaining.delete(id)
    this.currentWindow = undefined
  }

  countByOperation(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const operation of this.operationById.values())
      counts.set(operation, (counts.get(operation) ?? 0) + 1)
    return counts
  }

  /** All candidates of an operation. */
  idsOf(operation: string): string[] {
    return [...this.operationById].flatMap(([id, each]) => (each === operation ? id : []))
  }
}
