import { deepCopy, freezeCopy } from '@holdfast/records'
import type { LayerStore, LayerVersion } from '../store.js'

/** The layer itself is frozen and can be shared; the date cannot be frozen. */
const copyVersion = <V extends LayerVersion | undefined>(version: V): V =>
  version && { ...version, at: new Date(version.at) }

/** Versions of the live changes, oldest first. */
export class MemoryLayers implements LayerStore {
  private readonly versions: LayerVersion[] = []

  async latest(): Promise<LayerVersion | undefined> {
    return copyVersion(this.versions.at(-1))
  }

  async history(): Promise<LayerVersion[]> {
    return this.versions.map(copyVersion).toReversed()
  }

  async append(version: LayerVersion, after: number): Promise<boolean> {
    if ((this.versions.at(-1)?.version ?? 0) !== after) return false
    this.versions.push({ ...deepCopy(version), layer: freezeCopy(version.layer), version: after + 1 })
    return true
  }

  async expire(maxEntries: number): Promise<number> {
    return this.versions.splice(0, Math.max(0, this.versions.length - maxEntries)).length
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    const found = this.versions.find((known) => known.version === version)
    if (found !== undefined) found.layer = freezeCopy(layer)
  }
}
