import type { DeadLetter } from '../records/dead-letter.js'
import type { Added, DeadLetterStore } from '../store/store.js'

/** How many entries are flushed at once. */
const BATCH = 500

interface Waiting {
  readonly entry: DeadLetter
  readonly resolve: (added: Added) => void
  readonly reject: (error: unknown) => void
}

/** Brings entries to the store: those that fail together, or while others are written, share one flush. */
export class Intake {
  private waiting: Waiting[] = []
  private writing = false
  private readonly store: DeadLetterStore
  private readonly maxEntries: () => number

  constructor(store: DeadLetterStore, maxEntries: () => number) {
    this.store = store
    this.maxEntries = maxEntries
  }

  /** Resolves when the entry is flushed, or with why it is not kept. */
  add(entry: DeadLetter): Promise<Added> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ entry, resolve, reject })
      if (this.writing) return
      this.writing = true
      // After whatever else fails in this turn.
      queueMicrotask(() => void this.drain())
    })
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, BATCH)
      try {
        const limits = { maxEntries: this.maxEntries() }
        const results = await this.store.add(
          batch.map(({ entry }) => entry),
          limits,
        )
        for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Added)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.writing = false
  }
}
