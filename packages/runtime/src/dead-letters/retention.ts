import type { DeadLetterOptions, RuntimeContext } from '@holdfast/config'
import { RetentionClock } from '@holdfast/records'
import { PROCESSED_ID_RETENTION_MS } from '@holdfast/store'

const DAY_MS = 86_400_000

/**
 * How many completed entries are deleted before they are counted again, because several processes delete the entries of one
 * store at the same time.
 */
const COMPLETED_BATCH_SIZE = 1000

/** Deletes entries, and the ids of completed ones, when they are too old or too many. */
export class DeadLetterRetention {
  private readonly runtime: RuntimeContext
  private readonly options: () => DeadLetterOptions
  private readonly closeSignal: AbortSignal
  private readonly retentionClock: RetentionClock
  /** The day before which processed ids were deleted. The store deletes them by day. */
  private deletedUntilDay = Number.NEGATIVE_INFINITY

  constructor(runtime: RuntimeContext, options: () => DeadLetterOptions, closeSignal: AbortSignal) {
    this.runtime = runtime
    this.options = options
    this.closeSignal = closeSignal
    this.retentionClock = new RetentionClock(runtime.clock)
  }

  /** Returns how many entries were deleted. */
  async enforce(now: Date): Promise<number> {
    const deleted = (await this.deleteOld(now)) + (await this.deleteExcess(now))
    await this.deleteProcessedIds()
    return deleted
  }

  private async deleteOld(now: Date): Promise<number> {
    const { maxAge } = this.options()
    if (!Number.isFinite(maxAge)) return 0
    const to = new Date(this.retentionClock.wall() - maxAge)
    const purged = await this.runtime.store.deadLetters.purge({ to }, now)
    if (purged > 0)
      this.runtime.logger.warn({ purged, maxAge }, 'dead letters were deleted because of their age')
    return purged
  }

  /** Deletes the oldest completed entries, so that `max_entries` of them are left. */
  private async deleteExcess(now: Date): Promise<number> {
    const { deadLetters } = this.runtime.store
    const { maxEntries } = this.options()
    let deleted = 0
    while (!this.closeSignal.aborted) {
      const excess = (await deadLetters.stats(now)).byStatus.completed - maxEntries
      if (excess <= 0) break
      const limit = Math.min(excess, COMPLETED_BATCH_SIZE)
      const purged = await deadLetters.purge({ status: 'completed', limit }, now)
      if (purged === 0) break
      deleted += purged
    }
    if (deleted > 0)
      this.runtime.logger.info(
        { purged: deleted, maxEntries },
        'completed dead letters were deleted because of their number',
      )
    return deleted
  }

  /** Deletes the ids of entries that `max_age` deleted long ago. Without `max_age` an entry can be replayed at any time. */
  private async deleteProcessedIds(): Promise<void> {
    const { maxAge } = this.options()
    if (!Number.isFinite(maxAge)) return
    const before = this.retentionClock.wall() - maxAge - PROCESSED_ID_RETENTION_MS
    const day = Math.floor(before / DAY_MS)
    if (day <= this.deletedUntilDay) return
    await this.runtime.store.deadLetters.deleteProcessedIds(new Date(before))
    this.deletedUntilDay = day
  }
}
