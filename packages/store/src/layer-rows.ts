import type { LayerVersion } from './store.js'
import { fromColumn, toColumn } from './text.js'

/** A version of the live changes in a database. The time is ISO 8601, or epoch milliseconds as text. */
export interface LayerRow {
  version: number
  changed_by: string
  reason: string | null
  at: string
  layer: string
}

export const serializeLayer = (layer: unknown): string => JSON.stringify(layer ?? null)

/** The columns of a version except for its number and time. */
export const toLayerColumns = ({ by, reason, layer }: LayerVersion) => ({
  changed_by: toColumn(by),
  reason: reason === undefined ? null : toColumn(reason),
  layer: serializeLayer(layer),
})

/** @throws for a damaged row */
export function fromLayerRow(row: LayerRow, at: Date): LayerVersion {
  if (Number.isNaN(at.getTime())) throw new RangeError('the time is not valid')
  return {
    version: row.version,
    by: fromColumn(row.changed_by),
    ...(row.reason === null ? {} : { reason: fromColumn(row.reason) }),
    at,
    layer: JSON.parse(row.layer) as unknown,
  }
}
