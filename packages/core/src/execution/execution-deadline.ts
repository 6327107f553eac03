import type { AsyncScope } from '../async-context.js'
import type { DeadlineEntry, DeadlineQueue } from '../timeout/deadline-queue.js'

/** The entry of an execution in a queue of deadlines. */
export class ExecutionDeadline implements DeadlineEntry {
  startedAt = 0
  prev: DeadlineEntry | undefined = undefined
  next: DeadlineEntry | undefined = undefined
  queue: DeadlineQueue | undefined = undefined
  scope: AsyncScope | undefined = undefined
  private readonly execution: Pick<DeadlineEntry, 'onDeadline'>

  constructor(execution: Pick<DeadlineEntry, 'onDeadline'>) {
    this.execution = execution
  }

  onDeadline(dueAt: number): void {
    this.execution.onDeadline(dueAt)
  }
}
