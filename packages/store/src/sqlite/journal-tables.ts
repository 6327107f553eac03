import {
  auditText,
  breakerEventText,
  type CamelCased,
  errorRecordText,
  eventText,
  sessionText,
  type TextCodec,
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
import type { SqlCondition } from './statements/journal.js'

/** The columns by which the rows of a journal are found. They only reduce the records to read; `recordFilter` decides. */
export interface JournalTable<S extends z.ZodType, F> {
  readonly table: string
  readonly text: TextCodec<S>
  readonly recordFilter: RecordFilter<CamelCased<S>, F>
  /** Columns with the distinct values of the records in a row. */
  readonly columns: readonly string[]
  /** Adds the values of a record to the sets of the columns. */
  addValues(record: CamelCased<S>, sets: readonly Set<string>[]): void
  /** A column before those, with the greatest value of the records in a row. */
  readonly greatest?: { readonly column: string; of(record: CamelCased<S>): string } | undefined
  conditions(filter: F): SqlCondition[]
}

/** A value as a member of a set: a column has the distinct values as a JSON array of texts. */
const toText = <V extends string | null | undefined>(value: V | boolean): V | string =>
  typeof value === 'boolean' ? (value ? '1' : '0') : value

/** A column that must contain one of several values. */
function containsCondition(column: string, expected: string | boolean | readonly string[]): SqlCondition {
  const values = typeof expected === 'object' ? expected : [toText(expected)]
  return [
    `(${values.map(() => `instr(${column}, ?)`).join(' OR ') || 'FALSE'})`,
    ...values.map((value) => JSON.stringify(value)),
  ]
}

/** Creates the table of a journal. */
function createTable<S extends z.ZodType, F>(
  journal: JournalColumns<CamelCased<S>, F>,
  text: TextCodec<S>,
): JournalTable<S, F> {
  const { table, columns, sortedId } = journal
  return {
    table,
    text,
    recordFilter: createRecordFilter(journal),
    columns: columns.map(({ plural }) => plural),
    addValues(record, sets) {
      for (let i = 0; i < sets.length; i++) {
        const value = toText(columns[i]?.value(record))
        if (typeof value === 'string') sets[i]?.add(value)
      }
    },
    greatest: sortedId && { column: sortedId.greatest, of: sortedId.value },
    conditions(filter) {
      const conditions = columns.flatMap(({ plural, expected }) => {
        const value = expected(filter)
        return value === undefined ? [] : [containsCondition(plural, value)]
      })
      const after = sortedId?.after(filter)
      if (sortedId !== undefined && after !== undefined) conditions.push([`${sortedId.greatest} > ?`, after])
      return conditions
    },
  }
}

export const sessionTable = createTable(sessionColumns, sessionText)
export const eventTable = createTable(eventColumns, eventText)
export const errorTable = createTable(errorColumns, errorRecordText)
export const auditTable = createTable(auditColumns, auditText)
export const breakerEventTable = createTable(breakerEventColumns, breakerEventText)
