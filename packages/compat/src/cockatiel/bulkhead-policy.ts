import { BulkheadRejectedError, TaskCancelledError } from './errors.js'
import { type Event, EventEmitter } from './event.js'
import { Executor, neverAbortedSignal, returnOrThrow } from './executor.js'
import type { IDefaultPolicyContext, IFailureEvent, IPolicy, ISuccessEvent } from './types.js'

/** Limits how many functions run at the same time, and how many wait. */
export class BulkheadPolicy implements IPolicy {
  declare readonly _altReturn: never
  private readonly capacity: number
  private readonly queueCapacity: number
  private active = 0
  private readonly queue: (() => void)[] = []
  private readonly rejectEmitter = new EventEmitter<void>()
  private readonly executor = new Executor()
  readonly onSuccess: Event<ISuccessEvent> = this.executor.onSuccess
  readonly onFailure: Event<IFailureEvent> = this.executor.onFailure
  /** Emitted when a call is rejected because the bulkhead is full. */
  readonly onReject: Event<void> = this.rejectEmitter.addListener

  constructor(capacity: number, queueCapacity: number) {
    this.capacity = capacity
    this.queueCapacity = queueCapacity
  }

  /** The number of free slots. */
  get executionSlots(): number {
    return this.capacity - this.active
  }

  /** The number of free places in the queue. */
  get queueSlots(): number {
    return this.queueCapacity - this.queue.length
  }

  /**
   * Calls the function, now or when a slot is free.
   *
   * @throws BulkheadRejectedError if all slots and places in the queue are taken
   * @throws TaskCancelledError if the signal is aborted now or when a slot is free
   */
  async execute<T>(
    fn: (context: IDefaultPolicyContext) => PromiseLike<T> | T,
    signal: AbortSignal = neverAbortedSignal,
  ): Promise<T> {
    if (signal.aborted) throw new TaskCancelledError()
    if (this.active < this.capacity) this.active++
    else if (this.queue.length < this.queueCapacity)
      await new Promise<void>((resolve) => this.queue.push(resolve))
    else {
      this.rejectEmitter.emit()
      throw new BulkheadRejectedError(this.capacity, this.queueCapacity)
    }
    try {
      if (signal.aborted) throw new TaskCancelledError()
      return returnOrThrow(await this.executor.invoke(fn, { signal }))
    } finally {
      this.releaseSlot()
    }
  }

  /** Gives the slot to the next call in the queue, or frees it. */
  private releaseSlot(): void {
    const next = this.queue.shift()
    if (next === undefined) this.active--
    else next()
  }
}

/** Creates a policy that limits how many functions run at the same time, and how many wait. */
export const bulkhead = (limit: number, queue = 0): BulkheadPolicy => new BulkheadPolicy(limit, queue)
