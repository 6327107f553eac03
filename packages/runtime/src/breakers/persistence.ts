import { DAY_MS } from '@holdfast/records'
import type { BreakerStore, StoredBreaker } from '@holdfast/store'
import type { CircuitBreaker, Clock } from 'holdfast'

/** How long changes are collected before they are saved together. */
const SAVE_DELAY_MS = 50

/** How long a save that failed waits before it is repeated, unless another change is saved before. */
const SAVE_RETRY_MS = 5000

/** The state of a breaker that has not changed for this time is deleted, because members of pools come and go: 30 days. */
const UNUSED_AFTER_MS = 30 * DAY_MS

/** Whether a breaker needs its state no more: it would be closed, or make a probe, and no window or count is left. */
const isUnused = ({ snapshot, updatedAt }: StoredBreaker, now: number): boolean => {
  const { state, disabled, nextTestTime = 0 } = snapshot
  const lastNeededAt = Math.max(updatedAt.getTime(), state === 'open' ? nextTestTime : 0)
  return disabled !== true && lastNeededAt < now - UNUSED_AFTER_MS
}

/** Strings that differ whenever the saved state of a breaker would differ. Only outcomes and state changes change them. */
interface ChangeMark {
  readonly state: string
  /** Empty for a window without an outcome that can open the breaker. */
  readonly window: string
}

const changeMark = (breaker: CircuitBreaker): ChangeMark => {
  const { epoch, lastFailureTime, probeSuccesses, openUntil, recentOutcomes } = breaker
  // Successes alone do not change an adaptive threshold.
  const outcomes = recentOutcomes?.includes('0') ? recentOutcomes : ''
  return {
    state: `${epoch} ${lastFailureTime ?? ''} ${probeSuccesses} ${epoch === 0 ? '' : openUntil} ${outcomes}`,
    window: windowMark(breaker),
  }
}

/** A rolling window needs no mark of its own, because each failure changes `lastFailureTime`. */
function windowMark({ window, settings: { windowType } }: CircuitBreaker): string {
  const { entries = [], failed = 0, slow = 0 } = window ?? {}
  if (windowType === 'consecutive') return `${failed}`
  // Every call changes the newest entry, and an outcome that expires does not.
  return windowType === 'rate' && failed + slow > 0 ? entries.slice(-4).join() : ''
}

/** The mark of a breaker without any outcome. */
const UNCHANGED_MARK: ChangeMark = { state: '0  0  ', window: '0' }

/** Outcomes that leave a window when they are too old are also ignored when it is restored, so that they need no save. */
const hasChanged = (before: ChangeMark, { state, window }: ChangeMark) =>
  before.state !== state || (window !== '' && before.window !== window)

export interface BreakerPersistenceOptions {
  clock: Clock
  store: BreakerStore
  onFailed(error: unknown): void
}

/** Saves the state of breakers soon after it changes. No call waits for it. */
export class BreakerPersistence {
  private readonly changed = new Map<string, CircuitBreaker>()
  /** The creation times of the states that were loaded, by id. */
  private readonly loadedCreatedAt = new Map<string, Date>()
  private readonly createdAt = new WeakMap<CircuitBreaker, Date>()
  private readonly savedMarks = new WeakMap<CircuitBreaker, ChangeMark>()
  private isClosed = false
  private timer: unknown = undefined
  private retryTimer: unknown = undefined
  private currentSave: Promise<void> = Promise.resolve()
  private readonly options: BreakerPersistenceOptions

  constructor(options: BreakerPersistenceOptions) {
    this.options = options
  }

  /** Loads the saved breakers, and deletes those that are not used any more. */
  async load(): Promise<StoredBreaker[]> {
    const { clock, store, onFailed } = this.options
    const now = clock.wall()
    const all = await store.load()
    const stored = all.filter((breaker) => !isUnused(breaker, now))
    if (stored.length < all.length) {
      const unused = all.filter((breaker) => isUnused(breaker, now))
      await store.delete(unused.map(({ snapshot }) => snapshot.id)).catch(onFailed)
    }
    for (const { snapshot, createdAt } of stored) this.loadedCreatedAt.set(snapshot.id, createdAt)
    return stored
  }

  /** Marks the current state of a breaker as saved. */
  markSaved(breaker: CircuitBreaker): void {
    this.savedMarks.set(breaker, changeMark(breaker))
  }

  /** Saves a breaker if it has changed since it was last checked. */
  saveIfChanged(breaker: CircuitBreaker): void {
    // A breaker without any outcome in this process must not overwrite the state that another process saved.
    const before = this.savedMarks.get(breaker) ?? UNCHANGED_MARK
    if (hasChanged(before, changeMark(breaker))) this.scheduleSave(breaker)
  }

  scheduleSave(breaker: CircuitBreaker): void {
    if (this.isClosed) return
    this.markSaved(breaker)
    this.changed.set(breaker.id, breaker)
    this.timer ??= this.options.clock.setTimer(() => void this.flush(), SAVE_DELAY_MS)
  }

  flush(): Promise<void> {
    const { clock } = this.options
    clock.clearTimer(this.timer)
    clock.clearTimer(this.retryTimer)
    this.timer = undefined
    this.retryTimer = undefined
    this.currentSave = this.currentSave.then(() => this.save())
    return this.currentSave
  }

  /** Saves the remaining changes. Later changes are not saved. */
  async close(): Promise<void> {
    await this.flush()
    this.isClosed = true
    this.options.clock.clearTimer(this.timer)
    this.options.clock.clearTimer(this.retryTimer)
  }

  private async save(): Promise<void> {
    if (this.changed.size === 0) return
    const { clock, store, onFailed } = this.options
    const now = new Date(clock.wall())
    const breakers = [...this.changed.values()]
    this.changed.clear()
    const rows = breakers.map((breaker) => {
      const createdAt = this.createdAt.get(breaker) ?? this.loadedCreatedAt.get(breaker.id) ?? now
      this.createdAt.set(breaker, createdAt)
      const { failureThreshold, windowDuration, timeoutDuration } = breaker.settings
      const settings = { failureThreshold, windowDuration, timeoutDuration }
      return { snapshot: breaker.snapshot(), createdAt, updatedAt: now, settings }
    })
    try {
      await store.save(rows)
    } catch (error) {
      for (const breaker of breakers) if (!this.changed.has(breaker.id)) this.changed.set(breaker.id, breaker)
      this.scheduleRetry()
      onFailed(error)
    }
  }

  /** A store that stays unavailable must not keep a process alive that has nothing else to do. */
  private scheduleRetry(): void {
    this.retryTimer ??= this.options.clock.setTimer(() => void this.flush(), SAVE_RETRY_MS)
    ;(this.retryTimer as { unref?(): void } | undefined)?.unref?.()
  }
}
