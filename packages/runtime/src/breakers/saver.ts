import type { CircuitBreaker, Clock } from 'holdfast'
import type { BreakerStore, StoredBreaker } from '../store/store.js'

/** How long changes wait for others to be saved with them. */
const LINGER = 50

export interface SaverOptions {
  clock: Clock
  store: BreakerStore
  failed(error: unknown): void
}

/** Saves breakers that must outlive the process, soon after they change, and never while a call waits for it. */
export class BreakerSaver {
  private readonly changed = new Map<string, CircuitBreaker>()
  private readonly created = new Map<string, Date>()
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

  touch(breaker: CircuitBreaker): void {
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

  private async save(): Promise<void> {
    if (this.changed.size === 0) return
    const { clock, store, failed } = this.options
    const now = new Date(clock.wall())
    const breakers = [...this.changed.values()]
    this.changed.clear()
    const rows = breakers.map((breaker) => {
      const createdAt = this.created.get(breaker.id) ?? now
      this.created.set(breaker.id, createdAt)
      return { snapshot: breaker.snapshot(), createdAt, updatedAt: now }
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
