import type { CircuitBreaker, Clock } from 'holdfast'
import type { BreakerStore, StoredBreaker } from '../store/store.js'

/** How long changes wait for others to be saved with them. */
const LINGER = 50

/** All that tells whether something happened to a breaker. */
const markOf = ({ epoch, lastFailureTime, probeSuccesses, openUntil }: CircuitBreaker) =>
  `${epoch} ${lastFailureTime ?? ''} ${probeSuccesses} ${epoch === 0 ? '' : openUntil}`
const NOTHING = '0  0 '

export interface SaverOptions {
  clock: Clock
  store: BreakerStore
  failed(error: unknown): void
}

/** Saves breakers that must outlive the process, soon after they change, and never while a call waits for it. */
export class BreakerSaver {
  private readonly changed = new Map<string, CircuitBreaker>()
  private readonly created = new Map<string, Date>()
  private readonly seen = new Map<string, string>()
  private closed = false
  private timer: unknown = undefined
  private saving: Promise<void> = Promise.resolve()
  private readonly options: SaverOptions

  constructor(options: SaverOptions) {
    this.options = options
  }

  /** What was saved before. */
  async load(): Promise<StoredBreaker[]> {
    const stored = await this.options.store.load()
    for (const { snapshot, createdAt } of stored) this.created.set(snapshot.id, createdAt)
    return stored
  }

  /** Notes how a breaker is as saved, so that only what happens from here on is saved. */
  know(breaker: CircuitBreaker): void {
    this.seen.set(breaker.id, markOf(breaker))
  }

  /** Saves a breaker where anything happened to it since it was last looked at. */
  look(breaker: CircuitBreaker): void {
    const mark = markOf(breaker)
    if (this.seen.get(breaker.id) === mark) return
    // One that nothing ever happened to here must not hide what another process saved.
    if (this.seen.has(breaker.id) || mark !== NOTHING) this.touch(breaker)
    this.seen.set(breaker.id, mark)
  }

  touch(breaker: CircuitBreaker): void {
    if (this.closed) return
    this.seen.set(breaker.id, markOf(breaker))
    this.changed.set(breaker.id, breaker)
    this.timer ??= this.options.clock.setTimer(() => void this.flush(), LINGER)
  }

  flush(): Promise<void> {
    const { clock } = this.options
    clock.clearTimer(this.timer)
    this.timer = undefined
    this.saving = this.saving.then(() => this.save())
    return this.saving
  }

  /** Saves what changed; nothing is saved afterwards. */
  async close(): Promise<void> {
    await this.flush()
    this.closed = true
    this.options.clock.clearTimer(this.timer)
  }

  private async save(): Promise<void> {
    if (this.changed.size === 0) return
    const { clock, store, failed } = this.options
    const now = new Date(clock.wall())
    const breakers = [...this.changed.values()]
    this.changed.clear()
    const rows = breakers.map((breaker) => {
      const createdAt = this.created.get(breaker.id) ?? now
      this.created.set(breaker.id, createdAt)
      const { failureThreshold, windowDuration, timeoutDuration } = breaker.settings
      const settings = { failureThreshold, windowDuration, timeoutDuration }
      return { snapshot: breaker.snapshot(), createdAt, updatedAt: now, settings }
    })
    try {
      await store.save(rows)
    } catch (error) {
      // Saved with the next change, or at the end.
      for (const breaker of breakers) if (!this.changed.has(breaker.id)) this.changed.set(breaker.id, breaker)
      failed(error)
    }
  }
}
