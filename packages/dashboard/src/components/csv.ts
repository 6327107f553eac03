import { page } from '../browser.js'

/** The value of one cell. */
export type CsvValue = string | number | boolean | null | undefined

/** The first characters of a formula, also in full width, and the spaces that a spreadsheet ignores before them. */
const FORMULA_START = /^[=+\-@\t\r\n＝＋－＠]/

/**
 * A cell of a CSV file by RFC 4180. A text that a spreadsheet would evaluate as a formula gets an apostrophe, because records
 * contain text of other systems.
 */
function formatCell(value: CsvValue): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' && FORMULA_START.test(value) ? `'${value}` : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Formats rows as CSV with a header. */
export const formatCsv = (head: readonly string[], rows: readonly (readonly CsvValue[])[]): string =>
  [head, ...rows].map((row) => `${row.map(formatCell).join(',')}\r\n`).join('')

/** Saves a text as a file. */
export function downloadFile(name: string, type: string, text: string | Blob): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = page.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
