import { fromLayerRow, type LayerRow, serializeLayer, toLayerColumns } from '../layer-rows.js'
import { parseOrUndefined, readableRows } from '../readable-rows.js'
import type { LayerStore, LayerVersion } from '../store.js'
import {
  DELETE_LAYERS_AFTER,
  DELETE_OLD_LAYERS,
  INSERT_LAYER,
  SELECT_LAYER_BEFORE,
  SELECT_LAYERS,
  UPDATE_LAYER,
} from './statements/layers.js'
import type { WriteQueue } from './write-queue.js'

const fromRow = (row: LayerRow): LayerVersion => fromLayerRow(row, new Date(row.at))

/** Versions of the live changes. A damaged one is skipped, and replaced by the next change. */
export class SqliteLayers implements LayerStore {
  private readonly writes: WriteQueue

  constructor(writes: WriteQueue) {
    this.writes = writes
  }

  latest(): Promise<LayerVersion | undefined> {
    return this.writes.read(() => this.findLatest())
  }

  /** The newest version that can be read. */
  private findLatest(): LayerVersion | undefined {
    for (let before = Number.MAX_SAFE_INTEGER; ; ) {
      const row = this.writes.sql.get<LayerRow>(SELECT_LAYER_BEFORE, before)
      if (row === undefined) return undefined
      const version = parseOrUndefined(row, fromRow)
      if (version !== undefined) return version
      this.skipRow(row)
      before = row.version
    }
  }

  private skipRow({ version }: LayerRow): void {
    this.writes.unreadableRows.report('config_layers', version)
  }

  history(): Promise<LayerVersion[]> {
    return this.writes.read(() =>
      readableRows(this.writes.sql.all<LayerRow>(SELECT_LAYERS), fromRow, (row) => this.skipRow(row)),
    )
  }

  append(version: LayerVersion, after: number): Promise<boolean> {
    const { changed_by, reason, layer } = toLayerColumns(version)
    return this.writes.write(() => {
      const { sql } = this.writes
      if ((this.findLatest()?.version ?? 0) !== after) return false
      // Only damaged versions follow.
      sql.run(DELETE_LAYERS_AFTER, after)
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
