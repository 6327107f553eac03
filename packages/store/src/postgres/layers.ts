import { fromLayerRow, type LayerRow, serializeLayer, toLayerColumns } from '../layer-rows.js'
import type { LayerStore, LayerVersion } from '../store.js'
import type { PostgresDatabase } from './database.js'
import { layerStatements } from './statements/layers.js'

/** Versions of the live changes. */
export class PostgresLayers implements LayerStore {
  private readonly database: PostgresDatabase
  private readonly statements: ReturnType<typeof layerStatements>

  constructor(database: PostgresDatabase) {
    this.database = database
    this.statements = layerStatements(database.table)
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.read(this.statements.selectLatest).then(([row]) => row)
  }

  history(): Promise<LayerVersion[]> {
    return this.read(this.statements.selectAll)
  }

  private async read(statement: string): Promise<LayerVersion[]> {
    const rows = await this.database.read((sql) => sql.all<LayerRow>(statement))
    return rows.map((row) => fromLayerRow(row, new Date(Number(row.at))))
  }

  append(version: LayerVersion, after: number): Promise<boolean> {
    const { changed_by, reason, layer } = toLayerColumns(version)
    const [number, at] = [after + 1, version.at.getTime()]
    return this.database.write(
      async (sql) => (await sql.run(this.statements.insert, number, changed_by, reason, at, layer)) === 1,
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
