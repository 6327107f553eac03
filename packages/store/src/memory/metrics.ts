import { compareRows } from '../ordering.js'
import type { MetricsRow, MetricsStore } from '../store.js'

/** Rows by their start, because they are read and deleted by it. */
export class MemoryMetrics implements MetricsStore {
  private readonly byStart = new Map<number, Map<string, MetricsRow>>()

  async save(rows: readonly MetricsRow[]): Promise<void> {
    for (const row of rows) {
      let sameStart = this.byStart.get(row.start)
      if (sameStart === undefined) this.byStart.set(row.start, (sameStart = new Map()))
      sameStart.set(JSON.stringify([row.series, row.node]), row)
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
    let deleted = 0
    for (const [start, rows] of this.byStart) {
      if (start >= before) continue
      deleted += rows.size
      this.byStart.delete(start)
    }
    return deleted
  }
}
