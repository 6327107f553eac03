import type { LayerStore, LayerVersion } from '../store.js'
import { fromColumn, toColumn } from '../text.js'
import type { PostgresDatabase } from './database.js'

interface PostgresLayerRow {
  version: number
  changed_by: string
  reason: string | null
  at: string
  layer: string
}

const fromRow = (row: PostgresLayerRow): LayerVersion => ({
  version: row.version,
  by: fromColumn(row.changed_by),
  ...(row.reason === null ? {} : { reason: fromColumn(row.reason) }),
  at: new Date(Number(row.at)),
  layer: JSON.parse(row.layer) as unknown,
})

/** Versions of the live changes. */
export class PostgresLayers implements LayerStore {
  private readonly database: PostgresDatabase
  private readonly table: string

  constructor(database: PostgresDatabase) {
    this.database = database
    this.table = database.table('config_layers')
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.read('LIMIT 1').then(([row]) => row)
  }

  history(): Promise<LayerVersion[]> {
    return this.read('')
  }

  private async read(limit: string): Promise<LayerVersion[]> {
    const rows = await this.database.read((sql) =>
      sql.all<PostgresLayerRow>(`SELECT * FROM ${this.table} ORDER BY version DESC ${limit}`),
    )
    return rows.map(fromRow)
  }

  append({ by, reason, at, layer }: LayerVersion, after: number): Promise<boolean> {
    const input = [
      after + 1,
      toColumn(by),
      reason === undefined ? null : toColumn(reason),
      at.getTime(),
    ] as const
    const text = JSON.stringify(layer ?? null)
    return this.database.write(
      async (sql) =>
        (await sql.run(
          `INSERT INTO ${this.table} (version, changed_by, reason, at, layer) SELECT $1, $2, $3, $4, $5
            WHERE coalesce((SELECT max(version) FROM ${this.table}), 0) = $1 - 1 ON CONFLICT DO NOTHING`,
          ...input,
          text,
        )) === 1,
      {
        isCommitted: async (sql, added) =>
          added &&
          (
            await sql.all(
              `SELECT 1 FROM ${this.table} WHERE version = $1 AND changed_by = $2 AND at = $3 AND layer = $4`,
              input[0],
              input[1],
              input[3],
              text,
            )
          ).length > 0,
      },
    )
  }

  expire(maxEntries: number): Promise<number> {
    return this.database.write((sql) =>
      sql.run(
        `DELETE FROM ${this.table} WHERE version <= (SELECT max(version) FROM ${this.table}) - $1`,
        maxEntries,
      ),
    )
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    await this.database.write((sql) =>
      sql.run(
        `UPDATE ${this.table} SET layer = $2 WHERE version = $1`,
        version,
        JSON.stringify(layer ?? null),
      ),
    )
  }
}
