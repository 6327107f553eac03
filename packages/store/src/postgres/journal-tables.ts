import {
  auditCodec,
  auditText,
  breakerEventCodec,
  breakerEventText,
  type CamelCased,
  type Codec,
  errorRecordCodec,
  errorRecordText,
  eventCodec,
  eventText,
  sessionCodec,
  sessionText,
} from '@holdfast/records'
import type { z } from 'zod'
import { createRecordFilter, type RecordFilter } from '../filters.js'
import {
  auditColumns,
  breakerEventColumns,
  errorColumns,
  eventColumns,
  type JournalColumns,
  sessionColumns,
} from '../journal-columns.js'
import { toColumn } from '../text.js'
import type { PostgresValue } from './statements/parameters.js'

/** A condition on a column, with its value at the `?`. */
type PostgresCondition = readonly [sql: string, value: PostgresValue]

/** The columns by which the records of a journal are found. They only reduce the records to read; `recordFilter` decides. */
export interface PartitionedJournal<S extends z.ZodType, F> {
  readonly table: JournalColumns<never, never>['table']
  /** How many days a partition covers. */
  readonly partitionDays: number
  /** Names of columns, with their types. */
  readonly columns: Readonly<Record<string, 'text' | 'boolean'>>
  readonly codec: Codec<S>
  /** Returns the wire form of a record as JSON. */
  readonly write: (record: CamelCased<S>) => string
  readonly recordFilter: RecordFilter<CamelCased<S>, F>
  /** The values of the columns, in the same order. */
  values(record: CamelCased<S>): (string | boolean | null)[]
  conditions(filter: F): PostgresCondition[]
}

const toColumnValue = (value: string | boolean | null | undefined) =>
  typeof value === 'string' ? toColumn(value) : (value ?? null)

/** A column that must have a value, or one of several values. */
const equalsCondition = (
  column: string,
  expected: string | boolean | readonly string[],
): PostgresCondition =>
  typeof expected === 'object'
    ? [`${column} = ANY(?::text[])`, expected.map(toColumn)]
    : [`${column} = ?`, toColumnValue(expected)]

/** Creates the table of a journal. */
function createTable<S extends z.ZodType, F>(
  journal: JournalColumns<CamelCased<S>, F>,
  codec: Codec<S>,
  { write }: { readonly write: (record: CamelCased<S>) => string },
  partitionDays: number,
): PartitionedJournal<S, F> {
  const { table, columns, sortedId } = journal
  const idColumn = sortedId === undefined ? [] : [{ ...sortedId, type: 'text' as const }]
  const all = [...idColumn, ...columns]
  return {
    table,
    partitionDays,
    columns: Object.fromEntries(all.map(({ name, type }) => [name, type])),
    codec,
    write,
    recordFilter: createRecordFilter(journal),
    values: (record) => all.map(({ value }) => toColumnValue(value(record))),
    conditions(filter) {
      const conditions = columns.flatMap(({ name, expected }) => {
        const value = expected(filter)
        return value === undefined ? [] : [equalsCondition(name, value)]
      })
      const after = sortedId?.after(filter)
      if (sortedId !== undefined && after !== undefined)
        conditions.push([`${sortedId.name} > ?`, toColumn(after)])
      return conditions
    },
  }
}

export const sessionJournal = createTable(sessionColumns, sessionCodec, sessionText, 1)
export const eventJournal = createTable(eventColumns, eventCodec, eventText, 1)
export const errorJournal = createTable(errorColumns, errorRecordCodec, errorRecordText, 1)
export const auditJournal = createTable(auditColumns, auditCodec, auditText, 90)
export const breakerEventJournal = createTable(breakerEventColumns, breakerEventCodec, breakerEventText, 90)
