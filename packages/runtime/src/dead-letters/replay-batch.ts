import type { RuntimeContext } from '@holdfast/config'
import {
  ACTOR_CHECKS,
  abortSignal,
  anyBoolean,
  anyFunction,
  checkOptions,
  countOrInfinity,
  type DeadLetter,
  type DeadLetterStatus,
  positiveInteger,
  positiveNumber,
} from '@holdfast/records'
import type { Page } from '@holdfast/store'
import { BatchCandidates } from './batch-candidates.js'
import { type DeadLetterSelection, SELECTION_CHECKS } from './filter.js'
import type { HandlerRegistry } from './handlers.js'
import { LeaseBuffer, type LeasedEntry } from './lease-buffer.js'
import type { PayloadCipher } from './payload-cipher.js'
import { Recordings } from './recordings.js'
import {
  isUnavailable,
  type LeaseOwnerIds,
  type ReplayExecutor,
  type ReplayResult,
} from './replay-executor.js'
import { isIndexed, selectEntries, toSelector } from './selection.js'
import { waitOrAbort } from './wait.js'

/** The options of a batch replay. The fields of a selection select the entries. */
export interface BatchOptions extends DeadLetterSelection {
  /**
   * The statuses of the entries to replay. Entries that are completed or being replayed are never replayed.
   * @defaultValue pending, and with `retryFailed` or `ids` also failed
   */
  status?: DeadLetterStatus | readonly DeadLetterStatus[] | undefined
  /** The maximum number of entries to replay. @defaultValue all that are waiting */
  limit?: number | undefined
  /** The number of concurrent replays. @defaultValue 4 */
  concurrency?: number | undefined
  /** The maximum number of entries that are started per second. @defaultValue no limit */
  rate?: number | undefined
  /** Includes entries whose replay failed. @defaultValue false */
  retryFailed?: boolean | undefined
  /**
   * Requests the entries that remain when an operation becomes unavailable, because its breaker opens for example. They are
   * replayed as soon as the operation is available. @defaultValue false: they are skipped and stay pending
   */
  waitForBreaker?: boolean | undefined
  /** Called after each entry. */
  onProgress?: ((progress: BatchProgress) => void) | undefined
  /** Called at the end, once for each reason why entries were skipped. */
  onSkipped?: ((skipped: SkippedEntries) => void) | undefined
  /** Once aborted, no further entry is started; active replays continue to their end. */
  signal?: AbortSignal | undefined
}

/** Entries of a batch that were not replayed. */
export interface SkippedEntries {
  /**
   * `no_handler`: this process has no handler, and a replay was requested from other processes. `unavailable`: the operation's
   * breaker is open, its pool has no available member or the network is down. `waiting`: the same, and the replay follows as soon
   * as the operation is available. `stopped`: the batch was stopped. `changed`: another process replayed, leased or purged them.
   */
  reason: 'no_handler' | 'unavailable' | 'waiting' | 'stopped' | 'changed'
  /** Their number. */
  count: number
  /** The operations that have no handler or are unavailable. */
  operations: string[]
}

/** The reasons why entries of a batch were not replayed, for the API. */
export const SKIP_REASONS: Readonly<Record<SkippedEntries['reason'], string>> = {
  no_handler: 'this process has no handler; a worker of another process replays them',
  unavailable: 'the breaker is open, the pool has no available member or the network is down',
  waiting: 'the same; they are replayed when the breaker closes',
  stopped: 'the job was cancelled',
  changed: 'another process replayed, leased or purged them',
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
  ...SELECTION_CHECKS,
  limit: countOrInfinity,
  concurrency: positiveInteger,
  rate: positiveNumber,
  retryFailed: anyBoolean,
  waitForBreaker: anyBoolean,
  onProgress: anyFunction,
  onSkipped: anyFunction,
  signal: abortSignal,
  ...ACTOR_CHECKS,
}

const DEFAULT_CONCURRENCY = 4

/** How many entries are read at a time to request their replays. */
const REQUEST_BATCH_SIZE = 500

/** The statuses that can be replayed. */
const REPLAYABLE_STATUSES = ['pending', 'failed'] as const

interface BatchParts {
  readonly runtime: RuntimeContext
  readonly handlers: HandlerRegistry
  readonly replayExecutor: ReplayExecutor
  readonly leaseOwners: LeaseOwnerIds
  readonly payloadCipher: PayloadCipher
  /** Aborted when the queue closes. */
  readonly closeSignal: AbortSignal
  /** Replays requested entries in this process. */
  readonly serveRequests: () => void
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
  /** The operations that became unavailable during the batch. */
  private readonly unavailable = new Set<string>()
  /** The entries of a selection with ids or a text, which the store cannot select itself. */
  private candidates: BatchCandidates | undefined = undefined
  /** Entries that this batch replayed, if some of the others are requested at the end. */
  private readonly replayed = new Set<string>()
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
          : {
              operations: [...this.replayable],
              statuses: this.statuses,
              except: this.passed,
              itemId: options.itemId,
              from: options.from,
              to: options.to,
              ids: this.candidates?.window,
            },
      free: (callers) => callers,
      most: (callers) => callers + this.total - this.startedCount,
      isWanted: ({ operationType }) => !this.isStopped && this.replayable.has(operationType),
    })
    this.recordings = new Recordings(runtime)
  }

  async run(): Promise<BatchResult> {
    const remote = await this.countEntries()
    const workerCount = Math.min(this.options.concurrency ?? DEFAULT_CONCURRENCY, this.total)
    const settledWorkers = await Promise.allSettled(
      Array.from({ length: workerCount }, () => this.runWorker()),
    )
    settledWorkers.push(...(await Promise.allSettled([this.recordings.idle(), this.leases.close()])))
    const failedWorker = settledWorkers.find((part) => part.status === 'rejected')
    if (failedWorker !== undefined) throw failedWorker.reason
    const { succeeded, failed, total } = this
    const left = Math.max(0, total - succeeded - failed)
    await this.reportLeft(left)
    return { succeeded, failed, skipped: left + (await this.requestRemote(remote)) }
  }

  private get statuses(): readonly ('pending' | 'failed')[] {
    const { status, retryFailed, ids } = this.options
    if (status !== undefined) return REPLAYABLE_STATUSES.filter((each) => [status].flat().includes(each))
    return retryFailed || ids !== undefined ? REPLAYABLE_STATUSES : ['pending']
  }

  private get isStopped(): boolean {
    return this.isHalted || this.options.signal?.aborted === true || this.parts.closeSignal.aborted
  }

  /** Counts the entries to replay, and returns the operations whose handlers are in other processes. */
  private async countEntries(): Promise<string[]> {
    const { limit = Number.POSITIVE_INFINITY } = this.options
    const remote: string[] = []
    const counts = isIndexed(this.options) ? await this.countIndexed() : await this.findCandidates()
    for (const [operation, count] of counts) {
      if ((await this.parts.handlers.find(operation)) === undefined) {
        remote.push(operation)
        continue
      }
      this.replayable.add(operation)
      this.total += count
    }
    this.total = Math.min(this.total, limit)
    return remote
  }

  /** The number of selected entries of each operation. */
  private async countIndexed(): Promise<[operation: string, count: number][]> {
    const { runtime, replayExecutor } = this.parts
    const { operation, itemId, from, to } = this.options
    const { deadLetters } = runtime.store
    const now = replayExecutor.now()
    const { byOperation } = await deadLetters.stats(now)
    const needsCount = itemId !== undefined || from !== undefined || to !== undefined
    const counts: [string, number][] = []
    for (const [name, stats] of Object.entries(byOperation)) {
      if (operation !== undefined && name !== operation) continue
      const byStatus = needsCount
        ? await deadLetters.count(
            { ...toSelector(this.options), operation: name, status: this.statuses },
            now,
          )
        : stats
      counts.push([name, this.statuses.reduce((sum, status) => sum + byStatus[status], 0)])
    }
    return counts
  }

  /** Finds the selected entries of a selection with ids or a text, and returns their number for each operation. */
  private async findCandidates(): Promise<Map<string, number>> {
    const { runtime, replayExecutor, payloadCipher } = this.parts
    const selection = { ...this.options, status: this.statuses }
    const candidates = new BatchCandidates()
    const { deadLetters } = runtime.store
    for await (const entry of selectEntries(deadLetters, payloadCipher, selection, replayExecutor.now()))
      candidates.add(entry)
    this.candidates = candidates
    return candidates.countByOperation()
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
    const leased = await this.leaseNext()
    if (leased === undefined) return false
    const { entry, owner } = leased
    this.passed.add(entry.dlqId)
    this.candidates?.remove(entry.dlqId)
    const replayer = await handlers.find(entry.operationType)
    if (replayer === undefined) {
      this.leases.release(leased)
      return true
    }
    const replayed = await replayExecutor.execute(entry, owner, replayer, true)
    if (isUnavailable(replayed.error)) {
      this.replayable.delete(entry.operationType)
      this.unavailable.add(entry.operationType)
    }
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

  /** Leases the next entry. Candidates that cannot be leased, because another process has them, are passed over. */
  private async leaseNext(): Promise<LeasedEntry | undefined> {
    for (;;) {
      const window = this.candidates?.window
      const leased = await this.leases.next()
      if (leased !== undefined || window === undefined || window.length === 0) return leased
      if (this.isStopped || this.replayable.size === 0) return undefined
      this.candidates?.drop(window)
    }
  }

  private recordResult({ end, entry }: ReplayResult): void {
    if (this.options.waitForBreaker && end !== 'put_back') this.replayed.add(entry.dlqId)
    if (end === 'completed') this.succeeded++
    else if (end === 'failed') this.failed++
    // This batch cannot lease the entry again, so it need not be remembered.
    if (end === 'completed' || (end === 'failed' && !this.statuses.includes('failed')))
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

  private reportSkipped(reason: SkippedEntries['reason'], count: number, operations: Iterable<string>): void {
    if (count === 0) return
    try {
      this.options.onSkipped?.({ reason, count, operations: [...operations] })
    } catch (thrown) {
      this.parts.runtime.warn(`onSkipped of a batch threw an error, which is ignored: ${String(thrown)}`)
    }
  }

  /** Reports why entries with a handler in this process were not replayed; requests them if that is wanted. */
  private async reportLeft(left: number): Promise<void> {
    if (this.isStopped) return this.reportSkipped('stopped', left, [])
    if (this.unavailable.size === 0) return this.reportSkipped('changed', left, [])
    const waiting = this.options.waitForBreaker ? await this.requestReplays(this.unavailable, left) : 0
    if (waiting > 0) this.parts.serveRequests()
    this.reportSkipped('waiting', waiting, this.unavailable)
    this.reportSkipped('unavailable', left - waiting, this.unavailable)
  }

  /** Requests the entries whose handlers are in other processes, and returns their number. */
  private async requestRemote(operations: readonly string[]): Promise<number> {
    const { limit = Number.POSITIVE_INFINITY } = this.options
    const requested = await this.requestReplays(operations, limit - this.total)
    this.reportSkipped('no_handler', requested, operations)
    return requested
  }

  /** Stores replay requests for selected entries of some operations that this batch has not replayed, at most `max`. */
  private async requestReplays(operations: Iterable<string>, max: number): Promise<number> {
    const { deadLetters } = this.parts.runtime.store
    let requested = 0
    for (const operation of operations)
      for await (const ids of this.remainingIds(operation)) {
        if (this.isStopped) return requested
        const wanted = ids.filter((id) => !this.replayed.has(id)).slice(0, max - requested)
        await Promise.all(wanted.map((id) => deadLetters.request(id, this.parts.replayExecutor.now())))
        requested += wanted.length
        if (requested >= max) return requested
      }
    return requested
  }

  /** The ids of the selected entries of an operation, in parts. */
  private async *remainingIds(operation: string): AsyncGenerator<string[]> {
    const { runtime, replayExecutor } = this.parts
    if (this.candidates !== undefined) {
      yield this.candidates.idsOf(operation)
      return
    }
    const selector = { ...toSelector(this.options), operation, status: this.statuses }
    let cursor: string | undefined
    do {
      const page: Page<DeadLetter> = await runtime.store.deadLetters.list(
        { ...selector, limit: REQUEST_BATCH_SIZE, cursor },
        replayExecutor.now(),
      )
      yield page.items.map(({ dlqId }) => dlqId)
      cursor = page.cursor
    } while (cursor !== undefined)
  }
}
