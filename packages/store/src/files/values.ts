import { compareText } from '../ordering.js'
import { serializeValue } from '../payload.js'
import type { ValueStore } from '../store.js'
import type { JsonFile } from './json-file.js'

/** Named values in one file. */
export class FilesValues implements ValueStore {
  private readonly file: JsonFile

  constructor(file: JsonFile) {
    this.file = file
  }

  async get(key: string): Promise<unknown> {
    return (await this.file.load()).get(key)
  }

  async set(key: string, value: unknown): Promise<void> {
    const copy: unknown = JSON.parse(serializeValue(key, value))
    await this.file.change((table) => table.set(key, copy))
  }

  async delete(key: string): Promise<void> {
    await this.file.change((table) => table.delete(key))
  }

  async list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    return [...(await this.file.load())]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => compareText(a, b))
      .map(([key, value]) => ({ key, value }))
  }
}
