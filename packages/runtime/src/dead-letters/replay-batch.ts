import type { RuntimeContext } from '@holdfast/config'
import {
  ACTOR_CHECKS,
  abortSignal,
  anyBoolean,
  anyFunction,
  checkOptions,
  countOrInfinity,
  type DeadLetter,
  nonEmptyString,
  positiveInteger,
  positiveNumber,
} from '@holdfast/records'
import type { HandlerRegistry } from './handlers.js'
import { LeaseBuffer } from './lease-buffer.js'
import { Recordings } from './recordings.js'
import {
  isUnavailable,
  type LeaseOwnerIds,
  type ReplayExecutor,
  type ReplayResult,
} from './replay-executor.js'
import { waitOrAbort } from './wait.js'

/** The options of a batch replay. */
export interface BatchOptions {
  /** Only entries of this operation. @defaultValue all */
  operation?: string | undefined
  /** The maximum number of entries to replay. @defaultValue all that are waiting */
  limit?: number | undefined
  /** The number of concurrent replays. @defaultValue 4 */
  concurrency?: number | undefined
  /** The maximum number of entries that are started per second. @defaultValue no limit */
  rate?: number | undefined
  /** Includes entries whose replay failed. @defaultValue false */
  retryFailed?: boolean | undefined
  /** Called after each entry. */
  onProgress?: ((progress: BatchProgress) => void) | undefined
  /** Once aborted, no further entry is started; active replays continue to their end. */
  signal?: AbortSignal | undefined
}

/** The result of a batch. */
export interface BatchResult {
  /** The number of replays that succeeded. */
  succeeded: number
  /** The number of replays that failed. */
  failed: number
  /** Entries that were not replayed: the breaker opened, the signal was aborted, or their handler is in another process. */
  skipped: number
}

/** The progress of a batch. */
export interface BatchProgress {
  /** The number of replays that succeeded so far. */
  succeeded: number
  /** The number of replays that failed so far. */
  failed: number
  /** The number of entries at the start, within the limit. */
  total: number
  /** The entry that was just replayed. */
  entry: DeadLetter
}

const BATCH_CHECKS = {
  operation: nonEmptyString,
  limit: countOrInfinity,
  concurrency: positiveInteger,
  rate: positiveNumber,
  retryFailed: anyBoolean,
  onProgress: anyFunction,
  signal: abortSignal,
  ...ACTOR_CHECKS,
}

const DEFAULT_CONCURRENCY = 4

interface BatchParts {
  readonly runtime: RuntimeContext
  readonly handlers: HandlerRegistry
  readonly replayExecutor: ReplayExecutor
  readonly leaseOwners: LeaseOwnerIds
  /** Aborted when the queue closes. */
  readonly closeSignal: AbortSignal
}

/** One pass over the waiting entries, oldest first. */
export class ReplayBatch {
  private succeeded = 0
  private failed = 0
  private startedCount = 0
  private total = 0
  private nextStartAt = Number.NEGATIVE_INFINITY
  /** Starts wait in a queue, so that the signal has one listener for any number of workers. */
  private startQueue = Promise.resolve()
  private isHalted = false
  private hasProgressListener = true
  /** The operations that have a handler in this process and are available. */
  private readonly replayable = new Set<string>()
  /** Entries that are being replayed, and entries that this batch has finished although they could be leased again. */
  private readonly passed = new Set<string>()
  private readonly leases: LeaseBuffer
  private readonly recordings: Recordings
  private readonly parts: BatchParts
  private readonly options: BatchOptions

  /** @throws INVALID_OPTIONS */
  constructor(parts: BatchParts, options: BatchOptions) {
    checkOptions('a batch cannot be replayed', options, {}, BATCH_CHECKS)
    this.parts = parts
    this.options = options
    const { runtime, leaseOwners, replayExecutor } = parts
    this.leases = new LeaseBuffer({
      runtime,
      owners: leaseOwners,
      replays: replayExecutor,
      concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
      rate: options.rate,
      want: async () =>
        this.isStopped || this.replayable.size === 0
          ? undefined
          : { operations: [...this.replayable], statuses: this.statuses, except: this.passed },
      free: (callers) => callers,
      most: (callers) => callers + this.total - this.startedCount,
      isWanted: ({ operationType }) => !this.isStopped && this.replayable.has(operationType),
    })
    this.recordings = new Recordings(runtime)
  }

  async run(): Promise<BatchResult> {
    const remoteOperations = await this.countEntries()
    const workerCount = Math.min(this.options.concurrency ?? DEFAULT_CONCURRENCY, this.total)
    const settledWorkers = await Promise.allSettled(
      Array.from({ length: workerCount }, () => this.runWorker()),
    )
    settledWorkers.push(...(await Promise.allSettled([this.recordings.idle(), this.leases.close()])))
    const failedWorker = settledWorkers.find((part) => part.status === 'rejected')
    if (failedWorker !== undefined) throw failedWorker.reason
    const { succeeded, failed, total } = this
    return {
      succeeded,
      failed,
      skipped: Math.max(0, total - succeeded - failed) + (await this.requestReplays(remoteOperations)),
    }
  }

  private get statuses(): readonly ('pending' | 'failed')[] {
    return this.options.retryFailed ? ['pending', 'failed'] : ['pending']
  }

  private get isStopped(): boolean {
    return this.isHalted || this.options.signal?.aborted === true || this.parts.closeSignal.aborted
  }

  /** Counts the entries to replay, and returns the operations whose handlers are in other processes. */
  private async countEntries(): Promise<string[]> {
    const { handlers, runtime, replayExecutor } = this.parts
    const { operation, limit = Number.POSITIVE_INFINITY } = this.options
    const { byOperation } = await runtime.store.deadLetters.stats(replayExecutor.now())
    const remoteOperations: string[] = []
    for (const [name, counts] of Object.entries(byOperation)) {
      if (operation !== undefined && name !== operation) continue
      if ((await handlers.find(name)) === undefined) {
        remoteOperations.push(name)
        continue
      }
      this.replayable.add(name)
      for (const each of this.statuses) this.total += counts[each]
    }
    this.total = Math.min(this.total, limit)
    return remoteOperations
  }

  /** Replays one entry after another until none is left. */
  private async runWorker(): Promise<void> {
    const { clock } = this.parts.runtime
    while (this.startedCount < this.total && !this.isStopped && this.replayable.size > 0) {
      this.startedCount++
      await (this.startQueue = this.startQueue.then(() => this.waitForStart(clock)))
      if (this.isStopped) return
      try {
        if (!(await this.replayNext())) return
      } catch (error) {
        this.isHalted = true
        throw error
      }
    }
  }

  /** Waits until the rate permits another start. */
  private async waitForStart(clock: RuntimeContext['clock']): Promise<void> {
    const { rate, signal } = this.options
    if (rate === undefined) return
    const start = Math.max(clock.now(), this.nextStartAt)
    this.nextStartAt = start + 1000 / rate
    await waitOrAbort(clock, start - clock.now(), [signal, this.parts.closeSignal])
  }

  /** Returns false where no entry is left. */
  private async replayNext(): Promise<boolean> {
    const { handlers, replayExecutor } = this.parts
    const leased = await this.leases.next()
    if (leased === undefined) return false
    const { entry, owner } = leased
    this.passed.add(entry.dlqId)
    const replayer = await handlers.find(entry.operationType)
    if (replayer === undefined) {
      this.leases.giveBack(leased)
      return true
    }
    const replayed = await replayExecutor.execute(entry, owner, replayer, true)
    if (isUnavailable(replayed.error)) this.replayable.delete(entry.operationType)
    await this.recordings.add(async () => {
      try {
        this.recordResult(await replayed.record())
      } catch (error) {
        this.isHalted = true
        throw error
      }
    })
    return true
  }

  private recordResult({ end, entry }: ReplayResult): void {
    if (end === 'completed') this.succeeded++
    else if (end === 'failed') this.failed++
    // This batch cannot lease the entry again, so it need not be remembered.
    if (end === 'completed' || (end === 'failed' && !this.options.retryFailed))
      this.passed.delete(entry.dlqId)
    const { succeeded, failed, total } = this
    try {
      this.options.onProgress?.({ succeeded, failed, total, entry })
    } catch (thrown) {
      if (this.hasProgressListener)
        this.parts.runtime.warn(`onProgress of a batch threw an error, which is ignored: ${String(thrown)}`)
      this.hasProgressListener = false
    }
  }

  /** Stores a replay request for the entries whose handlers are in other processes, and returns their number. */
  private async requestReplays(operations: readonly string[]): Promise<number> {
    const { runtime, replayExecutor } = this.parts
    let remaining = (this.options.limit ?? Number.POSITIVE_INFINITY) - this.total
    let requested = 0
    for (const operation of operations) {
      let cursor: string | undefined
      do {
        if (remaining <= 0 || this.isStopped) return requested
        const filter = { operation, status: this.statuses, limit: Math.min(remaining, 500), cursor }
        const page = await runtime.store.deadLetters.list(filter, replayExecutor.now())
        await Promise.all(
          page.items.map(({ dlqId }) => runtime.store.deadLetters.request(dlqId, replayExecutor.now())),
        )
        requested += page.items.length
        remaining -= page.items.length
        cursor = page.cursor
      } while (cursor !== undefined)
    }
    return requested
  }
}
