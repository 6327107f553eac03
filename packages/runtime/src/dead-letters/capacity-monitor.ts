import type { DeadLetterOptions, RuntimeContext } from '@holdfast/config'
import { errorMessageOf } from '@holdfast/records'
import type { DeadLetterStats } from '@holdfast/store'
import { HoldfastError } from 'holdfast'

/** The fraction of the limit at which a warning is given. */
const WARN_FRACTION = 0.8

/** How long a count is used before it is refreshed, where other processes matter. */
const STALE_AFTER_MS = 1000

/** How long an insert waits for the count. */
const COUNT_TIMEOUT_MS = 250

const countOpen = ({ total, byStatus }: DeadLetterStats): number => total - byStatus.completed

/** Creates a DEAD_LETTERS_FULL error. */
const createFullError = (maxEntries: number): HoldfastError =>
  new HoldfastError(
    'DEAD_LETTERS_FULL',
    `${maxEntries} dead letters are waiting, which is the limit dead_letters.max_entries: replay or purge some, or raise the limit`,
    { status: 503 },
  )

/**
 * Tracks how full the queue is without counting for every entry. It counts again the sooner, the nearer the next threshold
 * is, and at the latest after a hundredth of the limit, because other processes add and remove entries too. Where a full
 * queue rejects calls it also counts every second, because calls that succeed add nothing.
 */
export class CapacityMonitor {
  /** The number of changes until the next count. */
  private changesUntilCount = 0
  private hasWarned = false
  private isAtLimit = false
  /** Whether the last count failed or timed out. Then no insert waits for the next one. */
  private isCountUnknown = false
  /** Whether a failure to count was reported since the last successful count. */
  private hasReportedFailure = false
  private countedAt = Number.NEGATIVE_INFINITY
  private currentCount: Promise<void> | undefined = undefined
  private timer: unknown = undefined
  private isClosed = false
  private readonly runtime: RuntimeContext
  private readonly options: () => DeadLetterOptions

  constructor(runtime: RuntimeContext, options: () => DeadLetterOptions) {
    this.runtime = runtime
    this.options = options
  }

  /** Counts for the first time. Never rejects. */
  async open(): Promise<void> {
    await this.refresh()
    this.scheduleRefresh()
  }

  close(): void {
    this.isClosed = true
    this.runtime.clock.clearTimer(this.timer)
  }

  /**
   * Entries were added, completed or purged. Never rejects, and does not delay the caller while the store does not respond.
   */
  async onChanged(count: number): Promise<void> {
    this.changesUntilCount -= count
    if (this.changesUntilCount > 0) return
    if (!this.isCountUnknown) return this.refreshWithTimeout()
    if (this.isStale) void this.refresh()
  }

  /** The store rejected an entry because it is full. */
  onStoreFull(): HoldfastError {
    this.isAtLimit = true
    return createFullError(this.options().maxEntries)
  }

  /** The error for calls with a payload while a full queue rejects them; undefined otherwise. */
  rejectionIfFull(): HoldfastError | undefined {
    if (!this.canReject) return undefined
    this.scheduleRefresh()
    if (!this.isAtLimit) return undefined
    if (this.isStale) void this.refresh()
    return createFullError(this.options().maxEntries)
  }

  /** Counts the waiting entries. Never rejects. */
  refresh(): Promise<void> {
    this.currentCount ??= this.countEntries().finally(() => {
      this.currentCount = undefined
    })
    return this.currentCount
  }

  private get canReject(): boolean {
    const { enabled, whenFull } = this.options()
    return enabled && whenFull === 'refuse'
  }

  private get isStale(): boolean {
    return this.runtime.clock.now() - this.countedAt >= STALE_AFTER_MS
  }

  /** Counts periodically while calls may be rejected, because other processes may fill the queue. */
  private scheduleRefresh(): void {
    const { clock, store } = this.runtime
    if (this.isClosed || this.timer !== undefined || store.private || !this.canReject) return
    this.timer = clock.setTimer(() => {
      this.timer = undefined
      if (this.isStale) void this.refresh()
      this.scheduleRefresh()
    }, STALE_AFTER_MS)
    ;(this.timer as { unref?(): void } | undefined)?.unref?.()
  }

  /** Counts, but continues without a result where that takes long. */
  private async refreshWithTimeout(): Promise<void> {
    const { clock } = this.runtime
    let timer: unknown
    const timeout = new Promise<void>((resolve) => {
      timer = clock.setTimer(() => {
        this.isCountUnknown = true
        resolve()
      }, COUNT_TIMEOUT_MS)
    })
    await Promise.race([this.refresh(), timeout])
    clock.clearTimer(timer)
  }

  private async countEntries(): Promise<void> {
    const { clock, store } = this.runtime
    this.countedAt = clock.now()
    try {
      this.updateState(countOpen(await store.deadLetters.stats(new Date(clock.wall()))))
      this.isCountUnknown = false
      this.hasReportedFailure = false
    } catch (error) {
      this.isCountUnknown = true
      if (!this.hasReportedFailure)
        this.runtime.warn(`dead letters cannot be counted: ${this.runtime.redact(errorMessageOf(error))}`)
      this.hasReportedFailure = true
    }
  }

  private updateState(open: number): void {
    const { maxEntries } = this.options()
    const warnThreshold = WARN_FRACTION * maxEntries
    this.isAtLimit = open >= maxEntries
    const next = open < warnThreshold ? warnThreshold : maxEntries
    this.changesUntilCount = Math.max(1, Math.min(Math.floor((next - open) / 2), Math.ceil(maxEntries / 100)))
    const isHigh = open >= warnThreshold
    if (isHigh && !this.hasWarned)
      this.runtime.emit({
        eventType: 'storage_warning',
        component: 'dead_letters',
        context: { reason: 'dead_letters', entries: open, max_entries: maxEntries },
      })
    this.hasWarned = isHigh
  }
}
