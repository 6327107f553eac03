import type { LayerStore, LayerVersion } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import type { Commits } from './commits.js'

interface LayerRow {
  version: number
  changed_by: string
  reason: string | null
  at: string
  layer: string
}

const versionOf = (row: LayerRow): LayerVersion => ({
  version: row.version,
  by: fromColumn(row.changed_by),
  ...(row.reason === null ? {} : { reason: fromColumn(row.reason) }),
  at: new Date(row.at),
  layer: JSON.parse(row.layer) as unknown,
})

/** Versions of the layer of changes. */
export class SqliteLayers implements LayerStore {
  private readonly commits: Commits

  constructor(commits: Commits) {
    this.commits = commits
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.commits.read(() => {
      const row = this.commits.sql.get<LayerRow>('SELECT * FROM config_layers ORDER BY version DESC LIMIT 1')
      return row && versionOf(row)
    })
  }

  history(): Promise<LayerVersion[]> {
    return this.commits.read(() =>
      this.commits.sql.all<LayerRow>('SELECT * FROM config_layers ORDER BY version DESC').map(versionOf),
    )
  }

  append({ by, reason, at, layer }: LayerVersion, after: number): Promise<boolean> {
    const text = JSON.stringify(layer ?? null)
    return this.commits.write(() => {
      const { sql } = this.commits
      const newest = sql.get<{ version: number | null }>('SELECT max(version) AS version FROM config_layers')
      if ((newest?.version ?? 0) !== after) return false
      sql.run(
        'INSERT INTO config_layers VALUES (?, ?, ?, ?, ?)',
        after + 1,
        toColumn(by),
        reason === undefined ? null : toColumn(reason),
        at.toISOString(),
        text,
      )
      return true
    })
  }

  expire(maxEntries: number): Promise<number> {
    return this.commits.writeLater(() =>
      this.commits.sql.run(
        'DELETE FROM config_layers WHERE version <= (SELECT max(version) FROM config_layers) - ?',
        maxEntries,
      ),
    )
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    const text = JSON.stringify(layer ?? null)
    await this.commits.write(() =>
      this.commits.sql.run('UPDATE config_layers SET layer = ? WHERE version = ?', text, version),
    )
  }
}
