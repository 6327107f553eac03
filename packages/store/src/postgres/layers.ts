import { fromLayerRow, type LayerRow, serializeLayer, toLayerColumns } from '../layer-rows.js'
import { parseOrUndefined, readableRows } from '../readable-rows.js'
import type { LayerStore, LayerVersion } from '../store.js'
import type { PostgresDatabase } from './database.js'
import type { SqlTransaction } from './sql.js'
import { layerStatements } from './statements/layers.js'

const fromRow = (row: LayerRow): LayerVersion => fromLayerRow(row, new Date(Number(row.at)))

/** Versions of the live changes. A damaged one is skipped, and replaced by the next change. */
export class PostgresLayers implements LayerStore {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof layerStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = layerStatements(database.table)
  }

  async latest(): Promise<LayerVersion | undefined> {
    const [newest] = await this.database.read((sql) => sql.all<LayerRow>(this.statements.selectLatest))
    if (newest === undefined) return undefined
    return parseOrUndefined(newest, fromRow) ?? (await this.history())[0]
  }

  async history(): Promise<LayerVersion[]> {
    const rows = await this.database.read((sql) => sql.all<LayerRow>(this.statements.selectAll))
    return readableRows(rows, fromRow, ({ version }) =>
      this.database.unreadableRows.report('config_layers', version),
    )
  }

  /**
   * Deletes the damaged versions after a number, if it is the newest that can be read. The content is compared, because another
   * process may have replaced a version meanwhile.
   */
  private async deleteDamaged(sql: SqlTransaction, after: number): Promise<void> {
    const rows = await sql.all<LayerRow>(this.statements.selectAll)
    const newest = rows.findIndex((row) => parseOrUndefined(row, fromRow) !== undefined)
    if ((rows[newest]?.version ?? 0) !== after) return
    for (const { version, changed_by, at, layer } of newest < 0 ? rows : rows.slice(0, newest))
      await sql.run(this.statements.deleteOne, version, changed_by, at, layer)
  }

  append(version: LayerVersion, after: number): Promise<boolean> {
    const { changed_by, reason, layer } = toLayerColumns(version)
    const [number, at] = [after + 1, version.at.getTime()]
    return this.database.write(
      async (sql) => {
        const insert = () => sql.run(this.statements.insert, number, changed_by, reason, at, layer)
        if ((await insert()) === 1) return true
        await this.deleteDamaged(sql, after)
        return (await insert()) === 1
      },
      {
        isCommitted: async (sql, added) =>
          added && (await sql.all(this.statements.exists, number, changed_by, at, layer)).length > 0,
      },
    )
  }

  expire(maxEntries: number): Promise<number> {
    return this.database.write((sql) => sql.run(this.statements.deleteOld, maxEntries))
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    await this.database.write((sql) => sql.run(this.statements.update, version, serializeLayer(layer)))
  }
}
