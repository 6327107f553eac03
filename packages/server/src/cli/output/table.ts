import Table from 'cli-table3'
import type { Io } from '../io.js'
import { HUES, paint, shown } from './text.js'

/** Nothing is drawn around cells: what is there can be copied, and cut by other tools. */
const BARE = Object.fromEntries(
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

const GAP = 2
const LEAST = 6

/** The widths of columns that fit: the widest give way first, and none becomes so narrow that it says nothing. */
export function fit(natural: readonly number[], room: number): number[] {
  const widths = [...natural]
  const total = () => widths.reduce((sum, width) => sum + width + GAP, -GAP)
  while (total() > room) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] as number) <= LEAST) break
    widths[widest] = (widths[widest] as number) - 1
  }
  return widths
}

/** Cuts a text to a width, with a mark that says so. */
const cut = (text: string, width: number): string =>
  text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`

/** Rows under their names. On a terminal they are fitted to its width; elsewhere nothing is cut. */
export function table(io: Io, head: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map((row) => row.map(shown))
  const natural = head.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)))
  const widths = io.terminal ? fit(natural, io.columns()) : natural
  const hue = paint(io.colours)
  const drawn = new Table({
    chars: { ...BARE, middle: ' '.repeat(GAP) },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
  })
  drawn.push(head.map((name, i) => hue('bold', cut(name.toUpperCase(), widths[i] as number))))
  for (const row of cells)
    drawn.push(
      row.map((text, i) => {
        const short = cut(text, widths[i] as number)
        return HUES[text] === undefined ? short : hue(HUES[text], short)
      }),
    )
  const lines = drawn.toString().split('\n')
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}
