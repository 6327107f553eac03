import type { LayerStore, LayerVersion } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import type { WriteQueue } from './write-queue.js'

interface SqliteLayerRow {
  version: number
  changed_by: string
  reason: string | null
  at: string
  layer: string
}

const fromRow = (row: SqliteLayerRow): LayerVersion => ({
  version: row.version,
  by: fromColumn(row.changed_by),
  ...(row.reason === null ? {} : { reason: fromColumn(row.reason) }),
  at: new Date(row.at),
  layer: JSON.parse(row.layer) as unknown,
})

/** Versions of the live changes. */
export class SqliteLayers implements LayerStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.writes.read(() => {
      const row = this.writes.sql.get<SqliteLayerRow>(
        'SELECT * FROM config_layers ORDER BY version DESC LIMIT 1',
      )
      return row && fromRow(row)
    })
  }

  history(): Promise<LayerVersion[]> {
    return this.writes.read(() =>
      this.writes.sql.all<SqliteLayerRow>('SELECT * FROM config_layers ORDER BY version DESC').map(fromRow),
    )
  }

  append({ by, reason, at, layer }: LayerVersion, after: number): Promise<boolean> {
    const text = JSON.stringify(layer ?? null)
    return this.writes.write(() => {
      const { sql } = this.writes
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
    return this.writes.writeDeferred(() =>
      this.writes.sql.run(
        'DELETE FROM config_layers WHERE version <= (SELECT max(version) FROM config_layers) - ?',
        maxEntries,
      ),
    )
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    const text = JSON.stringify(layer ?? null)
    await this.writes.write(() =>
      this.writes.sql.run('UPDATE config_layers SET layer = ? WHERE version = ?', text, version),
    )
  }
}
