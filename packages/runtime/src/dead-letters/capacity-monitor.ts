import type { DeadLetterOptions, RuntimeContext } from '@holdfast/config'
import { errorMessageOf } from '@holdfast/records'
import type { DeadLetterStats } from '@holdfast/store'
import { HoldfastError } from 'holdfast'

/** The share of the limit at which a warning is given. */
const WARN_FRACTION = 0.8

/** How long (ms) what was counted holds before somebody looks again, where it matters what others do. */
const STALE_AFTER_MS = 1000

/** How long (ms) whoever adds waits for the count. */
const COUNT_TIMEOUT_MS = 250

const countOpen = ({ total, byStatus }: DeadLetterStats): number => total - byStatus.completed

/** DEAD_LETTERS_FULL for an operation. */
const createFullError = (maxEntries: number): HoldfastError =>
  new HoldfastError(
    'DEAD_LETTERS_FULL',
    `${maxEntries} dead letters wait already, which is dead_letters.max_entries: replay or purge some, or raise the limit`,
    { status: 503 },
  )

/**
 * Knows how full the queue is without asking for every entry: the nearer the next mark, the sooner it looks, and at the
 * latest after a hundredth of the limit, because other processes add and take away too. Where calls are refused while it is
 * full, it looks every second besides, since calls that succeed add nothing.
 */
export class CapacityMonitor {
  /** Changes until it looks again. */
  private changesUntilCount = 0
  private hasWarned = false
  private isAtLimit = false
  /** Whether the last look came to nothing, or has not ended in time: nobody waits for the next. */
  private isCountUnknown = false
  /** Whether it was said that entries cannot be counted, since they last could. */
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

  /** Looks a first time. Never rejects. */
  async open(): Promise<void> {
    await this.refresh()
    this.scheduleRefresh()
  }

  close(): void {
    this.isClosed = true
    this.runtime.clock.clearTimer(this.timer)
  }

  /** Entries were added, completed or purged. Never rejects, and holds up nobody where the store does not answer. */
  async onChanged(count: number): Promise<void> {
    this.changesUntilCount -= count
    if (this.changesUntilCount > 0) return
    if (!this.isCountUnknown) return this.refreshWithTimeout()
    if (this.isStale) void this.refresh()
  }

  /** The store refused an entry. */
  onStoreFull(): HoldfastError {
    this.isAtLimit = true
    return createFullError(this.options().maxEntries)
  }

  /** The error for calls with a payload, where a full queue refuses them; undefined where they may go ahead. */
  rejectionIfFull(): HoldfastError | undefined {
    if (!this.canReject) return undefined
    this.scheduleRefresh()
    if (!this.isAtLimit) return undefined
    if (this.isStale) void this.refresh()
    return createFullError(this.options().maxEntries)
  }

  /** Asks the store how many entries wait. Never rejects. */
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

  /** Looks from time to time for as long as calls may be refused: others may fill the queue. */
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

  /** Looks, and goes on without having seen where that takes long. */
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
