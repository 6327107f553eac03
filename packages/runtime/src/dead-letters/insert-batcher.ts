import type { DeadLetter } from '@holdfast/records'
import type { Added, DeadLetterStore } from '@holdfast/store'

/** The maximum number of entries of one flush. */
const INSERT_BATCH_SIZE = 500

interface PendingInsert {
  readonly entry: DeadLetter
  readonly resolve: (added: Added) => void
  readonly reject: (error: unknown) => void
}

/** Inserts entries into the store. Entries that arrive in the same turn or during a write share one flush. */
export class InsertBatcher {
  private pending: PendingInsert[] = []
  private isWriting = false
  private readonly store: DeadLetterStore
  private readonly maxEntries: () => number

  constructor(store: DeadLetterStore, maxEntries: () => number) {
    this.store = store
    this.maxEntries = maxEntries
  }

  /** Resolves with the result of the insert when the entry is flushed. Rejects where the store failed. */
  add(entry: DeadLetter): Promise<Added> {
    return new Promise((resolve, reject) => {
      this.pending.push({ entry, resolve, reject })
      if (this.isWriting) return
      this.isWriting = true
      // Calls that fail in the same turn share the flush.
      queueMicrotask(() => void this.insertPending())
    })
  }

  private async insertPending(): Promise<void> {
    while (this.pending.length > 0) {
      const batch = this.pending.splice(0, INSERT_BATCH_SIZE)
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
    this.isWriting = false
  }
}
