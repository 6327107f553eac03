import { HoldfastError } from 'holdfast'
import type { Kit } from '../kit.js'
import { messageOf } from '../records/summary.js'
import type { DeadLetterStats } from '../store/store.js'
import type { DeadLetterOptions } from './options.js'

/** The share of the limit at which a warning is given. */
const WARN_AT = 0.8

/** How long (ms) what was counted holds before somebody looks again, where it matters what others do. */
const STALE = 1000

/** How long (ms) whoever adds waits for the count. */
const PATIENCE = 250

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
 * latest after a hundredth of the limit, because other processes add and take away too. Where calls are refused while it is
 * full, it looks every second besides, since calls that succeed add nothing.
 */
export class Limits {
  /** Changes until it looks again. */
  private left = 0
  private warned = false
  private full = false
  /** Whether the last look came to nothing, or has not ended in time: nobody waits for the next. */
  private blind = false
  /** Whether it was said that entries cannot be counted, since they last could. */
  private complained = false
  private lookedAt = Number.NEGATIVE_INFINITY
  private looking: Promise<void> | undefined = undefined
  private watching: unknown = undefined
  private closed = false
  private readonly kit: Kit
  private readonly options: () => DeadLetterOptions

  constructor(kit: Kit, options: () => DeadLetterOptions) {
    this.kit = kit
    this.options = options
  }

  /** Looks a first time. Never rejects. */
  async open(): Promise<void> {
    await this.look()
    this.watch()
  }

  close(): void {
    this.closed = true
    this.kit.clock.clearTimer(this.watching)
  }

  /** Entries were added, completed or purged. Never rejects, and holds up nobody where the store does not answer. */
  async changed(count: number): Promise<void> {
    this.left -= count
    if (this.left > 0) return
    if (!this.blind) return this.glance()
    if (this.isStale) void this.look()
  }

  /** The store refused an entry. */
  isFull(): HoldfastError {
    this.full = true
    return fullError(this.options().maxEntries)
  }

  /** The error for calls with a payload, where a full queue refuses them; undefined where they may go ahead. */
  refuses(): HoldfastError | undefined {
    if (!this.mayRefuse) return undefined
    this.watch()
    if (!this.full) return undefined
    if (this.isStale) void this.look()
    return fullError(this.options().maxEntries)
  }

  /** Asks the store how many entries wait. Never rejects. */
  look(): Promise<void> {
    this.looking ??= this.count().finally(() => {
      this.looking = undefined
    })
    return this.looking
  }

  private get mayRefuse(): boolean {
    const { enabled, whenFull } = this.options()
    return enabled && whenFull === 'refuse'
  }

  private get isStale(): boolean {
    return this.kit.clock.now() - this.lookedAt >= STALE
  }

  /** Looks from time to time for as long as calls may be refused: others may fill the queue. */
  private watch(): void {
    const { clock, store } = this.kit
    if (this.closed || this.watching !== undefined || store.private || !this.mayRefuse) return
    this.watching = clock.setTimer(() => {
      this.watching = undefined
      if (this.isStale) void this.look()
      this.watch()
    }, STALE)
    ;(this.watching as { unref?(): void } | undefined)?.unref?.()
  }

  /** Looks, and goes on without having seen where that takes long. */
  private async glance(): Promise<void> {
    const { clock } = this.kit
    let timer: unknown
    const enough = new Promise<void>((resolve) => {
      timer = clock.setTimer(() => {
        this.blind = true
        resolve()
      }, PATIENCE)
    })
    await Promise.race([this.look(), enough])
    clock.clearTimer(timer)
  }

  private async count(): Promise<void> {
    const { clock, store } = this.kit
    this.lookedAt = clock.now()
    try {
      this.judge(openIn(await store.deadLetters.stats(new Date(clock.wall()))))
      this.blind = false
      this.complained = false
    } catch (error) {
      this.blind = true
      if (!this.complained)
        this.kit.complain(`dead letters cannot be counted: ${this.kit.redact(messageOf(error))}`)
      this.complained = true
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
