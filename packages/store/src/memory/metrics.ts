import { compareRows } from '../ordering.js'
import type { MetricsRow, MetricsStore } from '../store.js'

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
