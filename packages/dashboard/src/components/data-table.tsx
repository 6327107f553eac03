import type { Key } from 'preact'
import { route, updateQuery } from '../route.js'
import { Table } from './basics.js'
import { downloadFile, formatCsv } from './csv.js'
import { type Column, sortRows } from './sort-rows.js'

export type { Column } from './sort-rows.js'

/** The button in the header of a column that can be sorted. Numbers are sorted downwards first. */
function SortButton<T>({
  column,
  sort,
  param,
}: {
  column: Column<T>
  sort: string | undefined
  param: string
}) {
  const { key, title, isNumeric = false } = column
  const [first, second] = isNumeric ? [`-${key}`, key] : [key, `-${key}`]
  return (
    <button
      type="button"
      class={`sort ${isNumeric ? 'number' : ''}`}
      onClick={() => updateQuery({ [param]: sort === first ? second : first })}
    >
      {title}
    </button>
  )
}

/** Saves the rows of a table as a CSV file. */
export function CsvButton<T>(props: { name: string; columns: readonly Column<T>[]; rows: readonly T[] }) {
  const exported = props.columns.flatMap(({ key, value }) => (value === undefined ? [] : [{ key, value }]))
  const save = (): void => {
    const head = exported.map(({ key }) => key)
    const rows = props.rows.map((row) => exported.map(({ value }) => value(row)))
    downloadFile(`${props.name}.csv`, 'text/csv', formatCsv(head, rows))
  }
  return (
    <button type="button" class="small secondary" onClick={save}>
      Export CSV
    </button>
  )
}

/** A table of records: sorted by a click on a header (the order is in the URL), with totals and a CSV file. */
export function DataTable<T>(props: {
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  keyOf: (row: T) => Key
  /** The order until the user selects one: `calls`, or `-calls` for the largest first. */
  defaultSort?: string
  /** The query parameter of the order, for a page with several tables. @defaultValue 'sort' */
  sortParam?: string
  /** The name of the CSV file without its extension; without it the table has no export button. */
  csv?: string
}) {
  const { columns, sortParam = 'sort' } = props
  const sort = route.value.query[sortParam] ?? props.defaultSort
  const rows = sortRows(props.rows, columns, sort)
  const directionOf = ({ key, value }: Column<T>) =>
    value === undefined
      ? undefined
      : sort === key
        ? ('ascending' as const)
        : sort === `-${key}`
          ? ('descending' as const)
          : ('none' as const)
  const classOf = ({ isNumeric = false }: Column<T>) => (isNumeric ? 'number' : undefined)
  return (
    <>
      <Table
        label={props.label}
        sorted={columns.map(directionOf)}
        head={columns.map((column) =>
          column.value === undefined ? (
            <span class={classOf(column)}>{column.title}</span>
          ) : (
            <SortButton column={column} sort={sort} param={sortParam} />
          ),
        )}
        {...(columns.some(({ total }) => total !== undefined) && {
          foot: (
            <tr>
              {columns.map((column, index) => (
                <td class={classOf(column)}>{column.total?.(rows) ?? (index === 0 ? 'Total' : '')}</td>
              ))}
            </tr>
          ),
        })}
      >
        {rows.map((row) => (
          <tr key={props.keyOf(row)}>
            {columns.map((column) => (
              <td class={classOf(column)}>
                {column.cell === undefined ? (column.value?.(row) ?? '–') : column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {props.csv !== undefined && (
        <p class="hint more">
          <CsvButton name={props.csv} columns={columns} rows={rows} />
        </p>
      )}
    </>
  )
}
