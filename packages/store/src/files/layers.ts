import { join } from 'node:path'
import type { LayerStore, LayerVersion } from '../store.js'
import { createUnavailableError, type Disk, type FileLock, parseJson } from './disk.js'

const versionFileName = (version: number) => `${String(version).padStart(8, '0')}.json`

/** Versions of the live changes, one file each. */
export class FilesLayers implements LayerStore {
  private readonly disk: Disk
  private readonly lock: FileLock
  private readonly folder: string

  constructor(disk: Disk, lock: FileLock, folder: string) {
    this.disk = disk
    this.lock = lock
    this.folder = folder
  }

  private async names(): Promise<string[]> {
    return (await this.disk.fileNames(this.folder)).filter((name) => /^\d+\.json$/.test(name)).sort()
  }

  /** Converts errors of the disk to STORE_UNAVAILABLE. */
  private async withStoreErrors<R>(work: () => Promise<R>): Promise<R> {
    try {
      return await work()
    } catch (error) {
      throw createUnavailableError(this.folder, error)
    }
  }

  private runExclusive<R>(work: () => Promise<R>): Promise<R> {
    return this.withStoreErrors(() => this.lock.runExclusive(work))
  }

  /** Reads a version; undefined if its file is gone. */
  private async readIfPresent(name: string): Promise<LayerVersion | undefined> {
    const path = join(this.folder, name)
    try {
      const content = await this.disk.read(path)
      if (content === undefined) return undefined
      const stored = parseJson(path, content) as Omit<LayerVersion, 'at'> & { at: string }
      return { ...stored, at: new Date(stored.at) }
    } catch (error) {
      throw createUnavailableError(path, error)
    }
  }

  /** Reads a version whose file exists. The caller holds the lock. */
  private async read(name: string): Promise<LayerVersion> {
    const version = await this.readIfPresent(name)
    if (version === undefined) throw new Error(`${name} was deleted by another program`)
    return version
  }

  private async write(version: LayerVersion): Promise<void> {
    const path = join(this.folder, versionFileName(version.version))
    await this.disk.replace(path, `${JSON.stringify(version, null, 1)}\n`)
    await this.disk.syncFolder(this.folder)
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.withStoreErrors(async () => {
      const name = (await this.names()).at(-1)
      if (name === undefined) return undefined
      // Without the lock, newer versions can be added and this one deleted meanwhile.
      return (await this.readIfPresent(name)) ?? (await this.history())[0]
    })
  }

  history(): Promise<LayerVersion[]> {
    // The lock keeps another process from deleting a version meanwhile.
    return this.runExclusive(async () => {
      const names = await this.names()
      return Promise.all(names.reverse().map((name) => this.read(name)))
    })
  }

  append(version: LayerVersion, after: number): Promise<boolean> {
    return this.runExclusive(async () => {
      const newest = Number.parseInt((await this.names()).at(-1) ?? '0', 10)
      if (newest !== after) return false
      await this.write({ ...version, version: after + 1 })
      return true
    })
  }

  expire(maxEntries: number): Promise<number> {
    return this.runExclusive(async () => {
      const names = await this.names()
      const old = names.slice(0, Math.max(0, names.length - maxEntries))
      for (const name of old) await this.disk.remove(join(this.folder, name))
      if (old.length > 0) await this.disk.syncFolder(this.folder)
      return old.length
    })
  }

  rewrite(version: number, layer: unknown): Promise<void> {
    return this.runExclusive(async () => {
      const name = versionFileName(version)
      if (!(await this.names()).includes(name)) return
      await this.write({ ...(await this.read(name)), layer })
    })
  }
}
