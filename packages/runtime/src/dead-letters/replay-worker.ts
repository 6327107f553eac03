import type { RuntimeContext } from '@holdfast/config'
import { abortSignal, checkOptions, errorMessageOf, positiveInteger, positiveNumber } from '@holdfast/records'
import type { HandlerRegistry } from './handlers.js'
import { LeaseBuffer, type LeasedEntry } from './lease-buffer.js'
import { Recordings } from './recordings.js'
import { isUnavailable, type LeaseOwnerIds, type ReplayExecutor } from './replay-executor.js'
import { waitOrAbort } from './wait.js'

/** The options of a worker that serves replay requests of other processes. */
export interface WorkOptions {
  /** The number of concurrent replays. @defaultValue 4 */
  concurrency?: number | undefined
  /**
   * Milliseconds between two polls of the queue; ten times as many if the store notifies of requests. @defaultValue 1000
   */
  interval?: number | undefined
  /** Ends the work when aborted, after the active replays. */
  signal?: AbortSignal | undefined
}

/** With notifications the queue is polled less often by this factor: polls only find leases that have ended. */
const NOTIFIED_INTERVAL_FACTOR = 10

const WORK_CHECKS = { concurrency: positiveInteger, interval: positiveNumber, signal: abortSignal }

interface WorkerParts {
  readonly runtime: RuntimeContext
  readonly handlers: HandlerRegistry
  readonly replayExecutor: ReplayExecutor
  readonly leaseOwners: LeaseOwnerIds
  readonly closeSignal: AbortSignal
  /** Called for each entry that was completed. */
  readonly onCompleted: () => Promise<void>
  /** Calls the listener when a breaker closes, until the returned function is called. */
  readonly onBreakerClosed?: ((listener: () => void) => () => void) | undefined
}

/** Serves replay requests until it is stopped. */
export class ReplayWorker {
  private readonly running = new Set<Promise<void>>()
  /** Unavailable operations, and until when, in monotonic time. */
  private readonly unavailableUntil = new Map<string, number>()
  private hasReportedFailure = false
  /**
   * Whether the store notifies of requests, whether it has since the last poll, and the function that ends the current
   * wait.
   */
  private isNotified = false
  private isWoken = false
  private wakeSignal: AbortController | undefined = undefined
  private readonly parts: WorkerParts
  private readonly options: WorkOptions
  private readonly interval: number
  private readonly concurrency: number
  private readonly leases: LeaseBuffer
  private readonly recordings: Recordings

  /** @throws INVALID_OPTIONS */
  constructor(parts: WorkerParts, options: WorkOptions) {
    checkOptions('the worker cannot start', options, {}, WORK_CHECKS)
    this.parts = parts
    this.options = options
    this.interval = options.interval ?? 1000
    this.concurrency = options.concurrency ?? 4
    const { runtime, leaseOwners, replayExecutor } = parts
    this.leases = new LeaseBuffer({
      runtime,
      owners: leaseOwners,
      replays: replayExecutor,
      concurrency: this.concurrency,
      want: async () => {
        // Only now, because an entry of the buffer can be started without a look at the queue.
        this.isWoken = false
        const operations = await this.availableOperations()
        return operations.length === 0 || this.stopped
          ? undefined
          : { operations, statuses: ['pending', 'failed'], requested: true }
      },
      free: () => this.concurrency - this.running.size,
      most: () => Number.POSITIVE_INFINITY,
      isWanted: ({ operationType }) => !this.stopped && !this.unavailableUntil.has(operationType),
    })
    this.recordings = new Recordings(runtime)
  }

  private get stopped(): boolean {
    return this.options.signal?.aborted === true || this.parts.closeSignal.aborted
  }

  /** Resolves when the signal is aborted or the queue closes, and the active replays have ended. */
  async run(): Promise<void> {
    const unsubscribe = this.parts.runtime.store.deadLetters.onRequest?.(() => {
      this.isNotified = true
      this.wake()
    })
    const unsubscribeBreakers = this.parts.onBreakerClosed?.(() => {
      if (this.unavailableUntil.size === 0) return
      this.unavailableUntil.clear()
      this.wake()
    })
    try {
      while (!this.stopped) {
        if (this.running.size >= this.concurrency) {
          await Promise.race(this.running)
          continue
        }
        if (!(await this.startNext()) || this.leases.isDrained) await this.waitForWork()
      }
    } finally {
      unsubscribe?.()
      unsubscribeBreakers?.()
    }
    await Promise.all(this.running)
    await this.leases.close()
    await this.recordings.idle()
  }

  private wake(): void {
    this.isWoken = true
    this.wakeSignal?.abort()
  }

  /** Waits for the next poll, which follows at once if a request arrived in the meantime. */
  private async waitForWork(): Promise<void> {
    const { closeSignal, runtime } = this.parts
    if (this.isWoken) return
    this.wakeSignal = new AbortController()
    // The end of an operation's unavailability is found only by polling, because no notification reports it.
    const useLongInterval = this.isNotified && this.unavailableUntil.size === 0
    const ms = this.interval * (useLongInterval ? NOTIFIED_INTERVAL_FACTOR : 1)
    await waitOrAbort(runtime.clock, ms, [this.options.signal, closeSignal, this.wakeSignal.signal])
    this.wakeSignal = undefined
  }

  /** The operations that have a handler in this process and are available. */
  private async availableOperations(): Promise<string[]> {
    const now = this.parts.runtime.clock.now()
    for (const [operation, until] of this.unavailableUntil)
      if (until <= now) this.unavailableUntil.delete(operation)
    return (await this.parts.handlers.operations()).filter((each) => !this.unavailableUntil.has(each))
  }

  /** Starts a replay. Returns false where there is none. */
  private async startNext(): Promise<boolean> {
    try {
      const leased = await this.leases.next()
      this.hasReportedFailure = false
      if (leased === undefined) return false
      const replay = this.replayEntry(leased).finally(() => this.running.delete(replay))
      this.running.add(replay)
      return true
    } catch (error) {
      this.reportFailure(error)
      return false
    }
  }

  private async replayEntry(leased: LeasedEntry): Promise<void> {
    const { handlers, replayExecutor } = this.parts
    const { entry, owner } = leased
    try {
      const replayer = await handlers.find(entry.operationType)
      if (replayer === undefined) return this.leases.release(leased)
      const replayed = await replayExecutor.execute(entry, owner, replayer, true)
      // Set before the result is recorded, because other entries of the operation would be rejected too in the meantime.
      if (isUnavailable(replayed.error)) this.pauseOperation(entry.operationType, replayed.error)
      await this.recordings.add(async () => {
        try {
          const { end, error } = await replayed.record()
          if (end === 'completed') await this.parts.onCompleted()
          if (end !== 'put_back') return
          if (isUnavailable(error)) return
          // An entry that cannot be read delays only its own operation.
          this.pauseOperation(entry.operationType, error)
          this.reportFailure(error)
        } catch (error) {
          this.reportFailure(error)
        }
      })
    } catch (error) {
      this.reportFailure(error)
    }
  }

  /** Pauses an operation until its breaker may be closed again. */
  private pauseOperation(operation: string, error: unknown): void {
    const { retryAfter = this.interval } = (error ?? {}) as { retryAfter?: number }
    this.unavailableUntil.set(operation, this.parts.runtime.clock.now() + Math.max(this.interval, retryAfter))
  }

  private reportFailure(error: unknown): void {
    if (!this.hasReportedFailure)
      this.parts.runtime.warn(
        `replay requests cannot be read, the worker retries: ${this.parts.runtime.redact(errorMessageOf(error))}`,
      )
    this.hasReportedFailure = true
  }
}
