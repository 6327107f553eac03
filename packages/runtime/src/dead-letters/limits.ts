import { HoldfastError } from 'holdfast'
import type { Kit } from '../kit.js'
import type { DeadLetterStats } from '../store/store.js'
import type { DeadLetterOptions } from './options.js'

/** The share of the limit at which a warning is given. */
const WARN_AT = 0.8

/** How long (ms) a full queue is taken for full before somebody looks again. */
const STALE = 1000

const openIn = ({ total, byStatus }: DeadLetterStats): number => total - byStatus.completed

/** DEAD_LETTERS_FULL for an operation. */
const fullError = (maxEntries: number): HoldfastError =>
  new HoldfastError(
    'DEAD_LETTERS_FULL',
    `${maxEntries} dead letters wait already, which is dead_letters.max_entries: replay or purge some, or raise the limit`,
    { status: 503 },
  )

/**
 * Knows how full the queue is without asking for every entry: the nearer the next mark, the sooner it looks, and at the
 * latest after a hundredth of the limit, because other processes add and take away too.
 */
export class Limits {
  /** Changes until it looks again. */
  private left = 0
  private warned = false
  private full = false
  private lookedAt = Number.NEGATIVE_INFINITY
  private looking: Promise<void> | undefined = undefined
  private readonly kit: Kit
  private readonly options: () => DeadLetterOptions

  constructor(kit: Kit, options: () => DeadLetterOptions) {
    this.kit = kit
    this.options = options
  }

  /** Entries were added, completed or purged. Never rejects. */
  async changed(count: number): Promise<void> {
    this.left -= count
    if (this.left <= 0) await this.look()
  }

  /** The store refused an entry. */
  isFull(): HoldfastError {
    this.full = true
    return fullError(this.options().maxEntries)
  }

  /** The error for calls with a payload, where a full queue refuses them; undefined where they may go ahead. */
  refuses(): HoldfastError | undefined {
    const { enabled, maxEntries, whenFull } = this.options()
    if (!enabled || whenFull !== 'refuse' || !this.full) return undefined
    if (this.kit.clock.now() - this.lookedAt >= STALE) void this.look()
    return fullError(maxEntries)
  }

  /** Asks the store how many entries wait. Never rejects. */
  look(): Promise<void> {
    this.looking ??= this.count().finally(() => {
      this.looking = undefined
    })
    return this.looking
  }

  private async count(): Promise<void> {
    const { clock, store } = this.kit
    this.lookedAt = clock.now()
    try {
      this.judge(openIn(await store.deadLetters.stats(new Date(clock.wall()))))
    } catch (error) {
      this.left = 1
      this.kit.complain(
        `dead letters cannot be counted: ${error instanceof Error ? error.message : 'unknown reason'}`,
      )
    }
  }

  private judge(open: number): void {
    const { maxEntries } = this.options()
    const mark = WARN_AT * maxEntries
    this.full = open >= maxEntries
    const next = open < mark ? mark : maxEntries
    this.left = Math.max(1, Math.min(Math.floor((next - open) / 2), Math.ceil(maxEntries / 100)))
    const high = open >= mark
    if (high && !this.warned)
      this.kit.emit({
        eventType: 'storage_warning',
        component: 'dead_letters',
        context: { reason: 'dead_letters', entries: open, max_entries: maxEntries },
      })
    this.warned = high
  }
}
