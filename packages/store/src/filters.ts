import type { RetrySession } from '@holdfast/records'
import {
  auditColumns,
  breakerEventColumns,
  errorColumns,
  eventColumns,
  type JournalColumns,
  sessionColumns,
} from './journal-columns.js'
import type { SessionFilter, TimeRange } from './journals.js'

/** How a journal filters its records: the time of a record, and whether the record matches the other fields of a filter. */
export interface RecordFilter<T, F> {
  timeOf(record: T): Date
  matches(record: T, filter: F): boolean
}

/** Whether a record matches a filter, by its time and all other fields. All stores and the lists of active sessions use it. */
export function matchesFilter<T, F extends TimeRange>(
  { timeOf, matches }: RecordFilter<T, F>,
  record: T,
  filter: F,
): boolean {
  const { from, to } = filter
  if (from !== undefined && timeOf(record) < from) return false
  if (to !== undefined && timeOf(record) >= to) return false
  return matches(record, filter)
}

/** The filter of a journal by its columns. */
export const createRecordFilter = <T, F>({
  timeOf,
  columns,
  sortedId,
}: JournalColumns<T, F>): RecordFilter<T, F> => ({
  timeOf,
  matches(record, filter) {
    const after = sortedId?.after(filter)
    if (sortedId !== undefined && after !== undefined && sortedId.value(record) <= after) return false
    return columns.every(({ value, expected }) => {
      const wanted = expected(filter)
      if (wanted === undefined) return true
      const actual = value(record)
      return typeof wanted === 'object' ? wanted.includes(actual as string) : actual === wanted
    })
  },
})

/** Selects sessions. The time of a session is its start, its policy is that of the last decision, as in metrics. */
export const sessionFilter: RecordFilter<RetrySession, SessionFilter> = createRecordFilter(sessionColumns)
export const eventFilter = createRecordFilter(eventColumns)
export const errorFilter = createRecordFilter(errorColumns)
export const auditFilter = createRecordFilter(auditColumns)
export const breakerEventFilter = createRecordFilter(breakerEventColumns)
