import { compareRows, compareText } from '../../../../store/src/ordering.js'
import { serializeValue } from '../../../../store/src/payload.js'
import type { LayerVersion, MetricsRow, StoredBreaker } from '../../../../store/src/store.js'

/** Snapshots of breakers by id. */
export class BreakerTable {
  private readonly byId = new Map<string, StoredBreaker>()

  save(snapshots: readonly StoredBreaker[]): void {
    for (const stored of snapshots) this.byId.set(stored.snapshot.id, stored)
  }

  load(): StoredBreaker[] {
    return [...this.byId.values()]
  }

  delete(ids: readonly string[]): void {
    for (const id of ids) this.byId.delete(id)
  }
}

const keyOf = ({ series, start, node }: MetricsRow): string => `${series}\0${start}\0${node}`

/** Rows of metrics by series, start and node. */
export class MetricsTable {
  private readonly byKey = new Map<string, MetricsRow>()

  /** Stores rows. Returns a function that restores the rows from before. */
  save(rows: readonly MetricsRow[]): () => void {
    const before = rows.map((row) => {
      const key = keyOf(row)
      const old = this.byKey.get(key)
      this.byKey.set(key, row)
      return [key, old] as const
    })
    return () => {
      for (const [key, row] of before.toReversed())
        if (row === undefined) this.byKey.delete(key)
        else this.byKey.set(key, row)
    }
  }

  load({ from, to, prefix = '' }: { from: number; to: number; prefix?: string | undefined }): MetricsRow[] {
    return [...this.byKey.values()]
      .filter(({ start, series }) => start >= from && start < to && series.startsWith(prefix))
      .sort((a, b) => a.start - b.start || compareRows(a, b))
  }

  expire(before: number): number {
    const expired = [...this.byKey].filter(([, { start }]) => start < before)
    for (const [key] of expired) this.byKey.delete(key)
    return expired.length
  }
}

/** Versions of the live changes, oldest first. */
export class LayerTable {
  private readonly versions: LayerVersion[] = []

  latest(): LayerVersion | undefined {
    return this.versions.at(-1)
  }

  history(): LayerVersion[] {
    return this.versions.toReversed()
  }

  append(version: LayerVersion, after: number): boolean {
    if ((this.latest()?.version ?? 0) !== after) return false
    this.versions.push({ ...version, version: after + 1 })
    return true
  }

  expire(maxEntries: number): number {
    return this.versions.splice(0, Math.max(0, this.versions.length - maxEntries)).length
  }

  rewrite(version: number, layer: unknown): void {
    const found = this.versions.find((known) => known.version === version)
    if (found !== undefined) found.layer = layer
  }
}

/** Small named values by key. */
export class ValueTable {
  private readonly byKey = new Map<string, unknown>()

  get(key: string): unknown {
    return this.byKey.get(key)
  }

  set(key: string, value: unknown): void {
    this.byKey.set(key, JSON.parse(serializeValue(key, value)))
  }

  delete(key: string): void {
    this.byKey.delete(key)
  }

  list(prefix: string): { key: string; value: unknown }[] {
    return [...this.byKey]
      .filter(([key]) => key.startsWith(prefix))
      .sort(([a], [b]) => compareText(a, b))
      .map(([key, value]) => ({ key, value }))
  }
}
