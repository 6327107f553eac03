import { fromLayerRow, type LayerRow, serializeLayer, toLayerColumns } from '../layer-rows.js'
import type { LayerStore, LayerVersion } from '../store.js'
import {
  DELETE_OLD_LAYERS,
  INSERT_LAYER,
  SELECT_LATEST_LAYER,
  SELECT_LATEST_VERSION,
  SELECT_LAYERS,
  UPDATE_LAYER,
} from './statements/layers.js'
import type { WriteQueue } from './write-queue.js'

const fromRow = (row: LayerRow): LayerVersion => fromLayerRow(row, new Date(row.at))

/** Versions of the live changes. */
export class SqliteLayers implements LayerStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.writes.read(() => {
      const row = this.writes.sql.get<LayerRow>(SELECT_LATEST_LAYER)
      return row && fromRow(row)
    })
  }

  history(): Promise<LayerVersion[]> {
    return this.writes.read(() => this.writes.sql.all<LayerRow>(SELECT_LAYERS).map(fromRow))
  }

  append(version: LayerVersion, after: number): Promise<boolean> {
    const { changed_by, reason, layer } = toLayerColumns(version)
    return this.writes.write(() => {
      const { sql } = this.writes
      const newest = sql.get<{ version: number | null }>(SELECT_LATEST_VERSION)
      if ((newest?.version ?? 0) !== after) return false
      sql.run(INSERT_LAYER, after + 1, changed_by, reason, version.at.toISOString(), layer)
      return true
    })
  }

  expire(maxEntries: number): Promise<number> {
    return this.writes.writeUnflushed(() => this.writes.sql.run(DELETE_OLD_LAYERS, maxEntries))
  }

  async rewrite(version: number, layer: unknown): Promise<void> {
    const text = serializeLayer(layer)
    await this.writes.write(() => this.writes.sql.run(UPDATE_LAYER, text, version))
  }
}
