import type { BreakerStore, StoredBreaker } from '../store.js'

/** Snapshots of breakers in memory. */
export class MemoryBreakers implements BreakerStore {
  private readonly byId = new Map<string, StoredBreaker>()

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    for (const stored of snapshots) this.byId.set(stored.snapshot.id, stored)
  }

  async load(): Promise<StoredBreaker[]> {
    return [...this.byId.values()]
  }

  async delete(ids: readonly string[]): Promise<void> {
    for (const id of ids) this.byId.delete(id)
  }
}
