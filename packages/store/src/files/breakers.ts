import { decodeBreaker, encodeBreaker } from '../breaker-codec.js'
import type { BreakerStore, StoredBreaker } from '../store.js'
import type { JsonFile } from './json-file.js'

/** Snapshots of breakers in one file. A snapshot that is not valid is ignored, and its breaker starts closed. */
export class FilesBreakers implements BreakerStore {
  private readonly file: JsonFile

  constructor(file: JsonFile) {
    this.file = file
  }

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    if (snapshots.length === 0) return
    const encoded = snapshots.map((stored) => [stored.snapshot.id, encodeBreaker(stored)] as const)
    await this.file.change((table) => {
      for (const [id, wire] of encoded) table.set(id, wire)
    })
  }

  async load(): Promise<StoredBreaker[]> {
    return [...(await this.file.load()).values()].flatMap((wire) => decodeBreaker(wire) ?? [])
  }

  async delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.file.change((table) => {
      for (const id of ids) table.delete(id)
    })
  }
}
