import { format } from './format.mjs'
import { verdicts } from './verdicts.mjs'

/**
 * A table in Markdown, aligned so that it reads well on a terminal too.
 *
 * @param {import('../cases/index.mjs').Case} one
 * @param {import('../run.mjs').Row[]} rows
 */
export function table(one, rows) {
  const { metrics } = one
  const head = [
    '',
    ...metrics.flatMap(({ title, spread }) => (spread ? [title, 'spread'] : [title])),
    'bound',
  ]
  const body = rows.map((row) => [
    row.label,
    ...metrics.flatMap(({ key, unit, spread }) => {
      const measured = row.metrics[key]
      if (measured === undefined) return spread ? ['—', ''] : ['—']
      const { median, low, high } = measured
      const range = `${format[unit](low)} – ${format[unit](high)}`
      return spread ? [format[unit](median), range] : [format[unit](median)]
    }),
    [
      ...verdicts(one, row).map(({ words, kept }) => `${words}: ${kept ? 'met' : 'MISSED'}`),
      ...(row.failed === undefined ? [] : [`not measured: ${row.failed}`]),
    ].join('; '),
  ])
  return align([head, ...body])
}

/** @param {string[][]} cells the first row is the head */
function align(cells) {
  const [head = [], ...body] = cells
  const last = head.length - 1
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)))
  const line = (/** @type {string[]} */ row) => {
    const padded = row.map((cell, column) =>
      column === 0 || column === last ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, column) =>
    column === 0 || column === last ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [line(head), line(rule), ...body.map(line)].join('\n')
}
