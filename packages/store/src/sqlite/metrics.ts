import { compareRows } from '../ordering.js'
import { readableRows } from '../readable-rows.js'
import type { MetricsRow, MetricsStore } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import {
  DELETE_OLD_METRICS,
  METRICS_BATCH_SIZE,
  SELECT_METRICS,
  UPSERT_METRICS_ROW,
} from './statements/metrics.js'
import type { WriteQueue } from './write-queue.js'

interface StoredMetricsRow {
  series: string
  start: number
  node: string
  data: string
}

const fromRow = ({ series, start, node, data }: StoredMetricsRow): MetricsRow => ({
  series: fromColumn(series),
  start,
  node: fromColumn(node),
  data: JSON.parse(data) as unknown,
})

/** Counters of periods. */
export class SqliteMetrics implements MetricsStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  async save(rows: readonly MetricsRow[]): Promise<void> {
    const stored = rows.map(({ series, start, node, data }) => [
      toColumn(series),
      start,
      toColumn(node),
      JSON.stringify(data ?? null),
    ])
    const saved: Promise<void>[] = []
    for (let at = 0; at < stored.length; at += METRICS_BATCH_SIZE) {
      const slice = stored.slice(at, at + METRICS_BATCH_SIZE)
      saved.push(
        this.writes.writeUnflushed(() => {
          const statement = this.writes.sql.statement(UPSERT_METRICS_ROW)
          for (const row of slice) statement.run(row)
        }),
      )
    }
    await Promise.all(saved)
  }

  async load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]> {
    const { from, to } = range
    const prefix = toColumn(range.prefix ?? '')
    const rows: MetricsRow[] = []
    // The last code point sorts after every series with this prefix.
    const end = `${prefix}\u{10ffff}`
    for (
      let last: StoredMetricsRow | undefined = { series: prefix, start: -1, node: '', data: '' };
      last !== undefined;
    ) {
      const { series, start, node }: StoredMetricsRow = last
      const slice: StoredMetricsRow[] = await this.writes.read(() =>
        this.writes.sql.all<StoredMetricsRow>(SELECT_METRICS, series, start, node, end, from, to),
      )
      rows.push(
        ...readableRows(slice, fromRow, (row) =>
          this.writes.unreadableRows.report('metrics', `${row.series} ${row.start}`),
        ),
      )
      last = slice.length < METRICS_BATCH_SIZE ? undefined : slice.at(-1)
      if (last !== undefined) await this.writes.nextTurn()
    }
    return rows.sort((a, b) => a.start - b.start || compareRows(a, b))
  }

  async expire(before: number): Promise<number> {
    for (let deleted = 0; ; ) {
      const batch = await this.writes.writeUnflushed(() => this.writes.sql.run(DELETE_OLD_METRICS, before))
      deleted += batch
      if (batch < METRICS_BATCH_SIZE) return deleted
    }
  }
}
