import { verdicts } from './verdicts.mjs'

/** @typedef {{ one: import('../cases/index.mjs').Case, rows: import('../run.mjs').Row[] }} Result */

/**
 * @param {Result[]} results
 * @returns {string[]} how many bounds were met, and each that was not
 */
export function summary(results) {
  const all = results.flatMap(({ one, rows }) =>
    rows.flatMap((row) =>
      verdicts(one, row).map((verdict) => ({ ...verdict, of: `${one.name}, ${row.label}` })),
    ),
  )
  const lines = all.filter(({ kept }) => !kept).map(({ of, words, got }) => `- ${of}: ${words}, but ${got}`)
  const failed = results.flatMap(({ one, rows }) =>
    rows.flatMap((row) => (row.failed ? [`- ${one.name}, ${row.label}: not measured, ${row.failed}`] : [])),
  )
  const met = all.length - lines.length
  const head =
    lines.length === 0 ? `All ${met} bounds are met.` : `${met} of ${all.length} bounds are met. Missed:`
  return [head, ...(lines.length + failed.length > 0 ? [''] : []), ...lines, ...failed]
}
