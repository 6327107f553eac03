import Table from 'cli-table3'
import type { CommandIo } from '../context/io.js'
import { COLOUR_BY_STATE, createPainter, formatInline } from './text.js'

/** Nothing is drawn around cells: what is there can be copied, and cut by other tools. */
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
  ].map((place) => [place, '']),
)

const COLUMN_GAP = 2
const MIN_COLUMN_WIDTH = 6

const sumWidths = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width + COLUMN_GAP, -COLUMN_GAP)

/**
 * The widths of columns that fit. The first is what a thing is called, and kept whole so that it can be copied; of the others the
 * widest give way first, and none becomes so narrow that it says nothing. Where that is not enough, the last are left out.
 */
export function fitColumns([name = 0, ...others]: readonly number[], room: number): number[] {
  const widths = [Math.min(name, room), ...others]
  const least = (width: number, i: number): number => (i === 0 ? width : Math.min(width, MIN_COLUMN_WIDTH))
  while (widths.length > 1 && sumWidths(widths.map(least)) > room) widths.pop()
  while (sumWidths(widths) > room) {
    const widest = widths.indexOf(Math.max(...widths.slice(1)), 1)
    widths[widest] = (widths[widest] as number) - 1
  }
  return widths
}

/** Cuts a text to a width, with a mark that says so. */
const truncate = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/** Rows under their names. On a terminal they are fitted to its width; elsewhere nothing is cut. */
export function formatTable(
  io: CommandIo,
  head: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  const cells = rows.map((row) => row.map(formatInline))
  const natural = head.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const widths = io.isTerminal ? fitColumns(natural, io.columns()) : natural
  const hue = createPainter(io.hasColours)
  const drawn = new Table({
    chars: { ...BORDERLESS, middle: ' '.repeat(COLUMN_GAP) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  })
  drawn.push(
    head
      .slice(0, widths.length)
      .map((name, i) => hue('bold', truncate(name.toUpperCase(), widths[i] as number))),
  )
  for (const row of cells)
    drawn.push(
      row.slice(0, widths.length).map((text, i) => {
        const short = truncate(text, widths[i] as number)
        return COLOUR_BY_STATE[text] === undefined ? short : hue(COLOUR_BY_STATE[text], short)
      }),
    )
  const lines = drawn.toString().split('\n')
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}
