import { compareRows, compareText } from '../ordering.js'
import { readableRows } from '../readable-rows.js'
import type { MetricsRow, MetricsStore } from '../store.js'
import { fromColumn, hashName, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'
import { metricsStatements } from './statements/metrics.js'

/** How many rows one statement writes or reads. */
const BATCH_SIZE = 500

/** Counters of periods. */
export class PostgresMetrics implements MetricsStore {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof metricsStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = metricsStatements(database.table)
  }

  async save(rows: readonly MetricsRow[]): Promise<void> {
    const keyed = new Map(
      rows.map((row) => [hashName(JSON.stringify([row.series, row.start, row.node])), row]),
    )
    const sorted = [...keyed].sort(([a], [b]) => compareText(a, b))
    for (let at = 0; at < sorted.length; at += BATCH_SIZE) {
      const batch = sorted.slice(at, at + BATCH_SIZE)
      await this.database.write(
        (sql) =>
          sql.run(
            this.statements.upsert,
            batch.map(([, { start }]) => start),
            batch.map(([key]) => key),
            batch.map(([, { series }]) => toColumn(series)),
            batch.map(([, { node }]) => toColumn(node)),
            batch.map(([, { data }]) => JSON.stringify(data ?? null)),
          ),
        { durable: false },
      )
    }
  }

  async load(range: { from: number; to: number; prefix?: string | undefined }): Promise<MetricsRow[]> {
    const rows = await this.database.read((sql) =>
      sql.all<{ series: string; start: string; node: string; data: string }>(
        this.statements.select,
        range.from,
        range.to,
        toColumn(range.prefix ?? ''),
      ),
    )
    return readableRows(
      rows,
      ({ series, start, node, data }) => ({
        series: fromColumn(series),
        start: Number(start),
        node: fromColumn(node),
        data: JSON.parse(data) as unknown,
      }),
      ({ series, start }) => this.database.unreadableRows.report('metrics', `${fromColumn(series)} ${start}`),
    ).sort((a, b) => a.start - b.start || compareRows(a, b))
  }

  expire(before: number): Promise<number> {
    return this.database.write((sql) => sql.run(this.statements.deleteOld, before))
  }
}
