import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import type { ValueStore } from '../store.js'

/** Named values. They are copied when they are written and read, as on a disk. */
export class MemoryValues implements ValueStore {
  private readonly byKey = new Map<string, unknown>()

  async get(key: string): Promise<unknown> {
    return structuredClone(this.byKey.get(key))
  }

  async set(key: string, value: unknown): Promise<void> {
    this.byKey.set(key, JSON.parse(serializeValue(key, value)))
  }

  async delete(key: string): Promise<void> {
    this.byKey.delete(key)
  }

  async list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    return [...this.byKey]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => compareText(a, b))
      .map(([key, value]) => ({ key, value: structuredClone(value) }))
  }
}
