import type { MetricsRow, MetricsStore } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import { type Commits, turn } from './commits.js'

/** How many rows are written, read or deleted before others have their turn. */
const SLICE = 500

interface Stored {
  series: string
  start: number
  node: string
  data: string
}

const SAVE = `INSERT INTO metrics VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET data = excluded.data`

/** Rows of a range after a given one, in the order of their key. */
const LOAD = `SELECT * FROM metrics
  WHERE (series, start, node) > (?, ?, ?) AND series < ? AND start >= ? AND start < ?
  ORDER BY series, start, node LIMIT ${SLICE}`

const DELETE_OLD = `DELETE FROM metrics WHERE (series, start, node) IN
  (SELECT series, start, node FROM metrics WHERE start < ? ORDER BY start LIMIT ${SLICE})`

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Counters of stretches of time. */
export class SqliteMetrics implements MetricsStore {
  private readonly commits: Commits

  constructor(commits: Commits) {
    this.commits = commits
  }

  async save(rows: readonly MetricsRow[]): Promise<void> {
    const stored = rows.map(({ series, start, node, data }) => [
      toColumn(series),
      start,
      toColumn(node),
      JSON.stringify(data ?? null),
    ])
    const saved: Promise<void>[] = []
    for (let at = 0; at < stored.length; at += SLICE) {
      const slice = stored.slice(at, at + SLICE)
      saved.push(
        this.commits.writeLater(() => {
          const statement = this.commits.sql.statement(SAVE)
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
    // No text of a series has a character beyond the last one there is.
    const end = `${prefix}\u{10ffff}`
    for (
      let last: Stored | undefined = { series: prefix, start: -1, node: '', data: '' };
      last !== undefined;
    ) {
      const { series, start, node }: Stored = last
      const slice: Stored[] = await this.commits.read(() =>
        this.commits.sql.all<Stored>(LOAD, series, start, node, end, from, to),
      )
      for (const row of slice)
        rows.push({
          series: fromColumn(row.series),
          start: row.start,
          node: fromColumn(row.node),
          data: JSON.parse(row.data),
        })
      last = slice.length < SLICE ? undefined : slice.at(-1)
      if (last !== undefined) await turn()
    }
    return rows.sort((a, b) => a.start - b.start || byText(a.series, b.series) || byText(a.node, b.node))
  }

  async expire(before: number): Promise<number> {
    for (let gone = 0; ; ) {
      const some = await this.commits.writeLater(() => this.commits.sql.run(DELETE_OLD, before))
      gone += some
      if (some < SLICE) return gone
    }
  }
}
