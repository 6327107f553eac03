import type { ComponentChildren } from 'preact'
import type { CsvValue } from './csv.js'

/** A column of a table of records. */
export interface Column<T> {
  /** The name of the column in the URL, `sort=-calls`, and in the CSV file. */
  readonly key: string
  readonly title: string
  /** The value by which the column is sorted and exported. A column without it cannot be sorted. */
  readonly value?: (row: T) => CsvValue
  /** The content of a cell. @defaultValue the value */
  readonly cell?: (row: T) => ComponentChildren
  readonly isNumeric?: boolean
  /** The total of the column over the shown rows. */
  readonly total?: (rows: readonly T[]) => ComponentChildren
}

/** The order of two values: numbers by size, texts by alphabet, missing values last in both directions. */
function compareValues(a: CsvValue, b: CsvValue, sign: number): number {
  if (a == null || b == null) return Number(a == null) - Number(b == null)
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
  return sign * String(a).localeCompare(String(b), 'en', { numeric: true })
}

/** Sorts rows by `calls` or, downwards, by `-calls`. Rows with the same value keep their order. */
export function sortRows<T>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  sort: string | undefined,
): readonly T[] {
  const isDown = sort?.startsWith('-') === true
  const valueOf = columns.find(({ key }) => key === (isDown ? sort?.slice(1) : sort))?.value
  if (valueOf === undefined) return rows
  return rows.toSorted((a, b) => compareValues(valueOf(a), valueOf(b), isDown ? -1 : 1))
}
