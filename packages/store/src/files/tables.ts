import { join } from 'node:path'
import { decodeBreaker, encodeBreaker } from '../breaker-codec.js'
import { serializeValue } from '../payload.js'
import type { BreakerStore, LayerStore, LayerVersion, StoredBreaker, ValueStore } from '../store.js'
import { createUnavailableError, type Disk, parseJson } from './disk.js'
import type { JsonFile } from './json-file.js'
import type { FairFileLock } from './lock.js'

/** Snapshots of breakers, in one file. One that is not understood is passed over: the breaker begins closed. */
export class FilesBreakers implements BreakerStore {
  private readonly file: JsonFile

  constructor(file: JsonFile) {
    this.file = file
  }

  async save(snapshots: readonly StoredBreaker[]): Promise<void> {
    if (snapshots.length === 0) return
    const encoded = snapshots.map((stored) => [stored.snapshot.id, encodeBreaker(stored)] as const)
    await this.file.change((held) => {
      for (const [id, wire] of encoded) held.set(id, wire)
    })
  }

  async load(): Promise<StoredBreaker[]> {
    return [...(await this.file.load()).values()].flatMap((wire) => decodeBreaker(wire) ?? [])
  }

  async delete(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.file.change((held) => {
      for (const id of ids) held.delete(id)
    })
  }
}

/** Named values, in one file. */
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
    await this.file.change((held) => held.set(key, copy))
  }

  async delete(key: string): Promise<void> {
    await this.file.change((held) => held.delete(key))
  }

  async list(prefix: string): Promise<{ key: string; value: unknown }[]> {
    return [...(await this.file.load())]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key, value }))
  }
}

const versionFileName = (version: number) => `${String(version).padStart(8, '0')}.json`

/** Versions of the layer, a file each. */
export class FilesLayers implements LayerStore {
  private readonly disk: Disk
  private readonly lock: FairFileLock
  private readonly folder: string

  constructor(disk: Disk, lock: FairFileLock, folder: string) {
    this.disk = disk
    this.lock = lock
    this.folder = folder
  }

  private async names(): Promise<string[]> {
    return (await this.disk.fileNames(this.folder)).filter((name) => /^\d+\.json$/.test(name)).sort()
  }

  private async read(name: string): Promise<LayerVersion> {
    const path = join(this.folder, name)
    try {
      const content = (await this.disk.read(path)) ?? Buffer.alloc(0)
      const held = parseJson(path, content) as Omit<LayerVersion, 'at'> & { at: string }
      return { ...held, at: new Date(held.at) }
    } catch (error) {
      throw createUnavailableError(path, error)
    }
  }

  async latest(): Promise<LayerVersion | undefined> {
    const name = (await this.names()).at(-1)
    return name === undefined ? undefined : this.read(name)
  }

  history(): Promise<LayerVersion[]> {
    // Nobody lets go of one meanwhile.
    return this.lock.runExclusive(async () => {
      const names = await this.names()
      return Promise.all(names.reverse().map((name) => this.read(name)))
    })
  }

  append(version: LayerVersion, after: number): Promise<boolean> {
    return this.lock.runExclusive(async () => {
      const newest = Number.parseInt((await this.names()).at(-1) ?? '0', 10)
      if (newest !== after) return false
      try {
        const held = { ...version, version: after + 1 }
        await this.disk.replace(
          join(this.folder, versionFileName(after + 1)),
          `${JSON.stringify(held, null, 1)}\n`,
        )
        await this.disk.syncFolder(this.folder)
      } catch (error) {
        throw createUnavailableError(this.folder, error)
      }
      return true
    })
  }

  expire(maxEntries: number): Promise<number> {
    return this.lock.runExclusive(async () => {
      const names = await this.names()
      const old = names.slice(0, Math.max(0, names.length - maxEntries))
      for (const name of old) await this.disk.remove(join(this.folder, name))
      return old.length
    })
  }

  rewrite(version: number, layer: unknown): Promise<void> {
    return this.lock.runExclusive(async () => {
      const name = versionFileName(version)
      if (!(await this.names()).includes(name)) return
      const held = { ...(await this.read(name)), layer }
      try {
        await this.disk.replace(join(this.folder, name), `${JSON.stringify(held, null, 1)}\n`)
        await this.disk.syncFolder(this.folder)
      } catch (error) {
        throw createUnavailableError(this.folder, error)
      }
    })
  }
}
