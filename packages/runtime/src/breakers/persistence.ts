import type { BreakerStore, StoredBreaker } from '@holdfast/store'
import type { CircuitBreaker, Clock } from 'holdfast'

/** How long changes wait for others to be saved with them. */
const SAVE_DELAY_MS = 50

/** All that tells whether something happened to a breaker. */
const changeMark = ({ epoch, lastFailureTime, probeSuccesses, openUntil }: CircuitBreaker) =>
  `${epoch} ${lastFailureTime ?? ''} ${probeSuccesses} ${epoch === 0 ? '' : openUntil}`
const UNCHANGED_MARK = '0  0 '

export interface BreakerPersistenceOptions {
  clock: Clock
  store: BreakerStore
  onFailed(error: unknown): void
}

/** Saves breakers that must outlive the process, soon after they change, and never while a call waits for it. */
export class BreakerPersistence {
  private readonly changed = new Map<string, CircuitBreaker>()
  private readonly createdAt = new Map<string, Date>()
  private readonly savedMarks = new Map<string, string>()
  private isClosed = false
  private timer: unknown = undefined
  private currentSave: Promise<void> = Promise.resolve()
  private readonly options: BreakerPersistenceOptions

  constructor(options: BreakerPersistenceOptions) {
    this.options = options
  }

  /** What was saved before. */
  async load(): Promise<StoredBreaker[]> {
    const stored = await this.options.store.load()
    for (const { snapshot, createdAt } of stored) this.createdAt.set(snapshot.id, createdAt)
    return stored
  }

  /** Notes how a breaker is as saved, so that only what happens from here on is saved. */
  markSaved(breaker: CircuitBreaker): void {
    this.savedMarks.set(breaker.id, changeMark(breaker))
  }

  /** Saves a breaker where anything happened to it since it was last looked at. */
  saveIfChanged(breaker: CircuitBreaker): void {
    const mark = changeMark(breaker)
    if (this.savedMarks.get(breaker.id) === mark) return
    // One that nothing ever happened to here must not hide what another process saved.
    if (this.savedMarks.has(breaker.id) || mark !== UNCHANGED_MARK) this.scheduleSave(breaker)
    this.savedMarks.set(breaker.id, mark)
  }

  scheduleSave(breaker: CircuitBreaker): void {
    if (this.isClosed) return
    this.savedMarks.set(breaker.id, changeMark(breaker))
    this.changed.set(breaker.id, breaker)
    this.timer ??= this.options.clock.setTimer(() => void this.flush(), SAVE_DELAY_MS)
  }

  flush(): Promise<void> {
    const { clock } = this.options
    clock.clearTimer(this.timer)
    this.timer = undefined
    this.currentSave = this.currentSave.then(() => this.save())
    return this.currentSave
  }

  /** Saves what changed; nothing is saved afterwards. */
  async close(): Promise<void> {
    await this.flush()
    this.isClosed = true
    this.options.clock.clearTimer(this.timer)
  }

  private async save(): Promise<void> {
    if (this.changed.size === 0) return
    const { clock, store, onFailed } = this.options
    const now = new Date(clock.wall())
    const breakers = [...this.changed.values()]
    this.changed.clear()
    const rows = breakers.map((breaker) => {
      const createdAt = this.createdAt.get(breaker.id) ?? now
      this.createdAt.set(breaker.id, createdAt)
      const { failureThreshold, windowDuration, timeoutDuration } = breaker.settings
      const settings = { failureThreshold, windowDuration, timeoutDuration }
      return { snapshot: breaker.snapshot(), createdAt, updatedAt: now, settings }
    })
    try {
      await store.save(rows)
    } catch (error) {
      // Saved with the next change, or at the end.
      for (const breaker of breakers) if (!this.changed.has(breaker.id)) this.changed.set(breaker.id, breaker)
      onFailed(error)
    }
  }
}
