import type { MetricsRow } from './store.js'

/** Compares by UTF-16 code units, as `<` does. */
export const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The order of rows with the same start. It only has to be the same in every backend. */
export const compareRows = (a: MetricsRow, b: MetricsRow) =>
  compareText(a.series, b.series) || compareText(a.node, b.node)
