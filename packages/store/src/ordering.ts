import type { MetricsRow } from './store.js'

/** Compares by UTF-16 code units, as `<` does. */
export const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The order of rows that began together: no matter which, as long as it is always the same. */
export const compareRows = (a: MetricsRow, b: MetricsRow) =>
  compareText(a.series, b.series) || compareText(a.node, b.node)
