// Curves as text and as a picture. Pure.
import { condense, formatMeasure, medianOf } from './verdict.mjs'

/** @typedef {import('./samples.mjs').Point} Point @typedef {import('./samples.mjs').Curves} Curves */

const BLOCKS = '▁▂▃▄▅▆▇█'

/** A line of blocks from zero to the largest value. @param {readonly Point[]} points @param {number} [width] */
export function sparkline(points, width = 40) {
  if (points.length === 0) return ''
  const start = /** @type {Point} */ (points[0]).minute
  const span = Math.max(/** @type {Point} */ (points.at(-1)).minute - start, 1e-9)
  /** @type {number[][]} */
  const columns = Array.from({ length: Math.min(width, points.length) }, () => [])
  for (const { minute, value } of points)
    columns[Math.min(columns.length - 1, Math.floor(((minute - start) / span) * columns.length))]?.push(value)
  const values = columns.map(medianOf)
  const largest = Math.max(...values.filter((value) => !Number.isNaN(value)), 1e-9)
  return values
    .map((value) => (Number.isNaN(value) ? ' ' : BLOCKS[Math.min(7, Math.floor((value / largest) * 8))]))
    .join('')
}

/** Columns of text, aligned. @param {readonly (readonly string[])[]} rows */
export function table(rows) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? '').length)))
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - cell.length))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** The columns of the picture. */
const COLUMNS = /** @type {const} */ ([
  ['heap', 'heap after collection'],
  ['rss', 'memory (RSS)'],
  ['descriptors', 'file descriptors'],
  ['delayP99', 'event-loop delay, p99'],
])

const CELL = { width: 250, height: 92, left: 8, top: 24, bottom: 8 }
/** The top of a plot is above its largest value, so that a flat curve is not at the edge. */
const HEADROOM = 1.1
const NAME_WIDTH = 90
const HEAD = 64

/** @param {string} text */
const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** @param {string} measure @param {readonly Point[]} points @param {{ minutes: number, warmUpMinutes: number, starvedMinutes: readonly number[] }} run */
function cell(measure, points, { minutes, warmUpMinutes, starvedMinutes }) {
  const width = CELL.width - 2 * CELL.left
  const height = CELL.height - CELL.top - CELL.bottom
  const largest = Math.max(...points.map(({ value }) => value), 1e-9)
  const x = (/** @type {number} */ minute) => CELL.left + (minute / minutes) * width
  const y = (/** @type {number} */ value) => CELL.top + height * (1 - value / (largest * HEADROOM))
  const line = condense(points).map(({ minute, value }) => `${x(minute).toFixed(1)},${y(value).toFixed(1)}`)
  const last = points.at(-1)?.value ?? 0
  const notJudged = [
    { from: 0, to: warmUpMinutes },
    ...starvedMinutes
      .filter((minute) => minute >= warmUpMinutes)
      .map((minute) => ({ from: minute, to: Math.min(minute + 1, minutes) })),
  ]
  return [
    `<rect x="${CELL.left}" y="${CELL.top}" width="${width}" height="${height}" class="plot"/>`,
    ...notJudged.map(
      ({ from, to }) =>
        `<rect x="${x(from).toFixed(1)}" y="${CELL.top}" width="${(x(to) - x(from)).toFixed(1)}" height="${height}" class="not-judged"/>`,
    ),
    `<polyline points="${line.join(' ')}"/>`,
    `<text x="${CELL.left}" y="${CELL.top - 6}">${formatMeasure(measure, last)} at the end</text>`,
    `<text x="${CELL.width - CELL.left}" y="${CELL.top - 6}" class="right">max ${formatMeasure(measure, largest)}</text>`,
  ].join('')
}

/**
 * A picture with one row for each process and one column for each measure. Every curve begins at zero.
 *
 * @param {Curves} curves
 * @param {{ title: string, processes: readonly string[], minutes: number, warmUpMinutes: number, starvedMinutes?: readonly number[] }} options
 */
export function drawCurves(curves, { title, processes, minutes, warmUpMinutes, starvedMinutes = [] }) {
  const width = NAME_WIDTH + COLUMNS.length * CELL.width + 8
  const bottom = HEAD + processes.length * CELL.height
  const height = bottom + 20
  const heads = COLUMNS.map(
    ([, text], i) =>
      `<text x="${NAME_WIDTH + i * CELL.width + CELL.left}" y="52" class="head">${text}</text>`,
  )
  const axes = COLUMNS.map(
    (_, i) =>
      `<text x="${NAME_WIDTH + i * CELL.width + CELL.left}" y="${bottom + 8}">0</text><text x="${NAME_WIDTH + (i + 1) * CELL.width - CELL.left}" y="${bottom + 8}" class="right">${minutes.toFixed(0)} min</text>`,
  )
  const rows = processes.map((process, row) => {
    const cells = COLUMNS.map(([measure], column) => {
      const points = curves[process]?.[measure] ?? []
      if (points.length === 0) return ''
      return `<g transform="translate(${NAME_WIDTH + column * CELL.width} 0)">${cell(measure, points, { minutes, warmUpMinutes, starvedMinutes })}</g>`
    })
    return `<g transform="translate(0 ${HEAD + row * CELL.height})"><text x="8" y="${CELL.top + 34}" class="head">${escape(process)}</text>${cells.join('')}</g>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">
<style>
  text { font: 11px system-ui, sans-serif; fill: #5b6470 }
  .title { font-size: 15px; font-weight: 600; fill: #1b2430 }
  .head { font-size: 12px; font-weight: 600; fill: #1b2430 }
  .right { text-anchor: end }
  .plot { fill: #f3f5f8 }
  .not-judged { fill: #e3e7ed }
  polyline { fill: none; stroke: #2563eb; stroke-width: 1.5; stroke-linejoin: round }
</style>
<rect width="${width}" height="${height}" fill="#ffffff"/>
<text x="8" y="24" class="title">${escape(title)}</text>
${heads.join('\n')}
${rows.join('\n')}
${axes.join('\n')}
</svg>
`
}
