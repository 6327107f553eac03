import type { DeadLetter } from '@holdfast/records'
import type { DeadLetterStats, Settlement } from '@holdfast/store'
import { Violation } from '../engine/violation.js'
import type { StoredLease } from './lease-model.js'
import type { StoreCall } from './store-port.js'

/** What a batch was asked to do. */
export interface BatchPlan {
  /** The operations that have a handler in the process. */
  readonly handled: readonly string[]
  readonly operation: string | undefined
  readonly limit: number | undefined
  readonly concurrency: number
  readonly rate: number | undefined
  readonly retryFailed: boolean
  /** Whether the batch is about some ids. Then it counts these. */
  readonly hasIds: boolean
}

interface Progress {
  readonly succeeded: number
  readonly failed: number
  readonly total: number
  readonly entry: DeadLetter
}

/** The time in which starts are counted for the rate. */
const RATE_WINDOW_MS = 5000

/** The longest time without a handler: failed settlements, slow calls, and requests for many entries. */
const MAX_IDLE_MS = 60_000

const FAIL = (process: string, text: string) => new Violation('batches', `the batch of ${process} ${text}`)

/**
 * One batch of a process, counted naively from the calls of the store and from the handlers. A process runs one batch at a time, so
 * leases of entries without a replay request belong to it.
 */
export class BatchModel {
  private readonly process: string
  private readonly plan: BatchPlan
  private readonly now: () => number
  private readonly settled = { completed: new Set<string>(), failed: new Set<string>() }
  private readonly leasedKeys = new Set<string>()
  private readonly startedAt: number[] = []
  /** The numbers of waiting entries that the process has read. */
  private readonly counts = new Set<number>()
  private requestCount = 0
  private readonly requestedIds = new Set<string>()
  private runningCount = 0
  private handlerCount = 0
  private isStopped = false
  private hasFault = false
  private activeAt: number
  private last: Progress | undefined

  constructor(process: string, plan: BatchPlan, now: () => number) {
    this.process = process
    this.plan = plan
    this.now = now
    this.activeAt = now()
  }

  /** The batch was aborted, or its process closes. */
  stop(): void {
    this.isStopped = true
  }

  onExecuted({ process, method, args }: StoreCall, result: unknown): void {
    if (process !== this.process) return
    if (method === 'deadLetters.leaseNext' && !(args[0] as { requested?: boolean }).requested)
      for (const { dlqId } of result as DeadLetter[]) this.leasedKeys.add(`${dlqId} ${args[1]}`)
    if (method === 'deadLetters.stats') this.counts.add(this.countWaiting(result as DeadLetterStats))
    if (result === undefined) return
    if (method === 'deadLetters.request') this.requestedIds.add(args[0] as string)
    if (method === 'deadLetters.settle') {
      const [id, owner, { status }] = args as [string, string, Settlement]
      if (status !== 'pending' && this.leasedKeys.has(`${id} ${owner}`)) this.settled[status].add(id)
    }
    this.checkLimit()
  }

  /** The limit is about all entries: those that the batch replays itself, and those that it requests from other processes. */
  private checkLimit(): void {
    const { limit = Number.POSITIVE_INFINITY } = this.plan
    const { completed, failed } = this.settled
    const used = new Set([...completed, ...failed, ...this.requestedIds])
    if (used.size > limit)
      throw FAIL(
        this.process,
        `has replayed ${completed.size + failed.size} entries and requested ${this.requestedIds.size}, expected at most ${limit} together`,
      )
  }

  onReplied({ process, method }: StoreCall, hasFailed: boolean): void {
    if (process !== this.process) return
    if (hasFailed) this.hasFault = true
    else if (method === 'deadLetters.request') this.requestCount++
  }

  onHandlerStarted({ process, kind }: StoredLease): void {
    if (process !== this.process || kind !== 'batch') return
    this.activeAt = this.now()
    const { concurrency, rate, limit = Number.POSITIVE_INFINITY } = this.plan
    if (this.isStopped) throw FAIL(process, 'started a handler after it was stopped')
    if (++this.runningCount > concurrency)
      throw FAIL(process, `runs ${this.runningCount} handlers, expected at most ${concurrency}`)
    if (++this.handlerCount > limit) throw FAIL(process, `started more than ${limit} handlers`)
    this.startedAt.push(this.now())
    if (rate === undefined) return
    const recent = this.startedAt.filter((at) => this.now() - at <= RATE_WINDOW_MS).length
    const most = (rate * RATE_WINDOW_MS) / 1000 + concurrency + 1
    if (recent > most)
      throw FAIL(process, `started ${recent} handlers in ${RATE_WINDOW_MS} ms, expected at most ${most}`)
  }

  onHandlerEnded({ process, kind }: StoredLease): void {
    if (process !== this.process || kind !== 'batch') return
    this.activeAt = this.now()
    this.runningCount--
  }

  /** Checks that the batch has not stopped to work. */
  check(): void {
    const idleMs = this.now() - this.activeAt
    if (this.runningCount === 0 && idleMs > MAX_IDLE_MS)
      throw new Violation('hangs', `the batch of ${this.process} has had no handler for ${idleMs} ms`)
  }

  onProgress(progress: Progress): void {
    const { succeeded, failed, entry, total } = progress
    const before = this.last ?? { succeeded: 0, failed: 0, total }
    const grown = succeeded + failed - before.succeeded - before.failed
    const expected = entry.status === 'completed' || entry.status === 'failed' ? 1 : 0
    if (grown > 1 || grown < 0 || (grown === 1 && expected === 0) || total !== before.total)
      throw FAIL(
        this.process,
        `reported ${succeeded} of ${total} after ${before.succeeded} of ${before.total}, entry ${entry.status}`,
      )
    this.last = progress
  }

  /** The batch has ended with a result. */
  onResult(
    result: { succeeded: number; failed: number; skipped: number },
    skipped: readonly { readonly reason: string; readonly count: number }[],
  ): void {
    const { completed, failed } = this.settled
    this.compare('succeeded', result.succeeded, completed.size)
    this.compare('failed', result.failed, failed.size)
    this.compare('succeeded by its last progress', this.last?.succeeded ?? 0, completed.size)
    this.compare('failed by its last progress', this.last?.failed ?? 0, failed.size)
    this.compare(
      'skipped by its reasons',
      skipped.reduce((sum, { count }) => sum + count, 0),
      result.skipped,
    )
    const { limit = Number.POSITIVE_INFINITY } = this.plan
    const total = this.last?.total
    const isCounted = [...this.counts].some((count) => Math.min(count, limit) === total)
    if (total !== undefined && !isCounted && !this.plan.hasIds)
      throw FAIL(this.process, `has a total of ${total}, expected one of ${[...this.counts].join(', ')}`)
    const requested = skipped
      .filter(({ reason }) => reason === 'no_handler' || reason === 'waiting')
      .reduce((sum, { count }) => sum + count, 0)
    if (requested > this.requestCount)
      throw FAIL(this.process, `reports ${requested} requests, and the store confirmed ${this.requestCount}`)
    const hasStopped = skipped.some(({ reason }) => reason === 'stopped')
    if (hasStopped && !this.isStopped) throw FAIL(this.process, 'reports that it was stopped, and it was not')
  }

  /** The batch has failed. */
  onFailed(error: unknown): void {
    if (!this.hasFault && !this.isStopped)
      throw FAIL(this.process, `failed without a fault: ${String((error as Error)?.message ?? error)}`)
  }

  private compare(what: string, got: number, expected: number): void {
    if (got !== expected) throw FAIL(this.process, `reports ${got} ${what}, expected ${expected}`)
  }

  private countWaiting({ byOperation }: DeadLetterStats): number {
    const { operation, retryFailed, handled } = this.plan
    let count = 0
    for (const [name, stats] of Object.entries(byOperation))
      if (handled.includes(name) && (operation === undefined || name === operation))
        count += stats.pending + (retryFailed ? stats.failed : 0)
    return count
  }
}
