import Table from 'cli-table3'
import type { CommandIo } from '../context/io.js'
import { COLOUR_BY_STATE, createPainter, formatInline } from './text.js'

/** A table without borders, so that cells can be copied and parsed by other tools. */
const BORDERLESS = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((border) => [border, '']),
)

const COLUMN_GAP = 2
const MIN_COLUMN_WIDTH = 6

const sumWidths = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width + COLUMN_GAP, -COLUMN_GAP)

/**
 * Fits the widths of columns into a total width. The first column is the id and is never shortened, so that it can be copied.
 * The widest of the others are shortened first, down to a minimum. Where that is not enough, the last columns are omitted.
 */
export function fitColumns([id = 0, ...others]: readonly number[], available: number): number[] {
  const widths = [Math.min(id, available), ...others]
  const minimumWidth = (width: number, i: number): number =>
    i === 0 ? width : Math.min(width, MIN_COLUMN_WIDTH)
  while (widths.length > 1 && sumWidths(widths.map(minimumWidth)) > available) widths.pop()
  while (sumWidths(widths) > available) {
    const widest = widths.indexOf(Math.max(...widths.slice(1)), 1)
    widths[widest] = (widths[widest] as number) - 1
  }
  return widths
}

/** Shortens a text to a width, with an ellipsis at its end. */
const truncate = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/** Formats rows as a table. On a terminal it is fitted to the width; elsewhere nothing is shortened. */
export function formatTable(
  io: CommandIo,
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  const cells = rows.map((row) => row.map(formatInline))
  const natural = head.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const widths = io.isTerminal ? fitColumns(natural, io.columns()) : natural
  const paint = createPainter(io.hasColours)
  const table = new Table({
    chars: { ...BORDERLESS, middle: ' '.repeat(COLUMN_GAP) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  })
  table.push(
    head
      .slice(0, widths.length)
      .map((name, i) => paint('bold', truncate(name.toUpperCase(), widths[i] as number))),
  )
  for (const row of cells)
    table.push(
      row.slice(0, widths.length).map((text, i) => {
        const short = truncate(text, widths[i] as number)
        return COLOUR_BY_STATE[text] === undefined ? short : paint(COLOUR_BY_STATE[text], short)
      }),
    )
  const lines = table.toString().split('\n')
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}
