import { deepCopy, freezeCopy } from '@holdfast/records'
import { serializeValue } from '../payload.js'
import type {
  BreakerStore,
  LayerStore,
  LayerVersion,
  MetricsRow,
  MetricsStore,
  StoredBreaker,
  ValueStore,
} from '../store.js'

/** Snapshots of breakers of one process. */
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

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The order of rows that began together: no matter which, as long as it is always the same. */
export const compareRows = (a: MetricsRow, b: MetricsRow) =>
  compareText(a.series, b.series) || compareText(a.node, b.node)

/** Rows by when they began, since that is how they are asked for and let go of. */
export class MemoryMetrics implements MetricsStore {
  private readonly byStart = new Map<number, Map<string, MetricsRow>>()

  async save(rows: readonly MetricsRow[]): Promise<void> {
    for (const row of rows) {
      let held = this.byStart.get(row.start)
      if (held === undefined) this.byStart.set(row.start, (held = new Map()))
      held.set(JSON.stringify([row.series, row.node]), row)
    }
  }

  async load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]> {
    const { from, to, prefix = '' } = range
    return [...this.byStart]
      .filter(([start]) => start >= from && start < to)
      .sort(([a], [b]) => a - b)
      .flatMap(([, rows]) =>
        [...rows.values()].filter((row) => row.series.startsWith(prefix)).sort(compareRows),
      )
  }

  async expire(before: number): Promise<number> {
    let gone = 0
    for (const [start, rows] of this.byStart) {
      if (start >= before) continue
      gone += rows.size
      this.byStart.delete(start)
    }
    return gone
  }
}

/** The layer itself is frozen, and shared. */
const copyForReader = <V extends LayerVersion | undefined>(version: V): V =>
  version && { ...version, at: new Date(version.at) }

/** Versions of the layer, oldest first. */
export class MemoryLayers implements LayerStore {
  private readonly versions: LayerVersion[] = []

  async latest(): Promise<LayerVersion | undefined> {
    return copyForReader(this.versions.at(-1))
  }

  async history(): Promise<LayerVersion[]> {
    return this.versions.map(copyForReader).toReversed()
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

/** Named values. They are copied both ways, as a disk would. */
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
