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

  private async read(name: string): Promise<LayerVersion> {
    const path = join(this.folder, name)
    try {
      const content = (await this.disk.read(path)) ?? Buffer.alloc(0)
      const stored = parseJson(path, content) as Omit<LayerVersion, 'at'> & { at: string }
      return { ...stored, at: new Date(stored.at) }
    } catch (error) {
      throw createUnavailableError(path, error)
    }
  }

  async latest(): Promise<LayerVersion | undefined> {
    const name = (await this.names()).at(-1)
    return name === undefined ? undefined : this.read(name)
  }

  history(): Promise<LayerVersion[]> {
    // The lock keeps another process from deleting a version meanwhile.
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
        const stored = { ...version, version: after + 1 }
        await this.disk.replace(
          join(this.folder, versionFileName(after + 1)),
          `${JSON.stringify(stored, null, 1)}\n`,
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
      const stored = { ...(await this.read(name)), layer }
      try {
        await this.disk.replace(join(this.folder, name), `${JSON.stringify(stored, null, 1)}\n`)
        await this.disk.syncFolder(this.folder)
      } catch (error) {
        throw createUnavailableError(this.folder, error)
      }
    })
  }
}
