import { encodeCursor, parsePaging } from '../../../../store/src/cursor.js'
import { matchesFilter, type RecordFilter } from '../../../../store/src/filters.js'
import type { Page, PageOptions, TimeRange } from '../../../../store/src/journals.js'

interface JournalRow<T> {
  readonly seq: number
  readonly record: T
}

/** The rows of a journal, in the order of insertion. */
export class JournalTable<T, F extends PageOptions & TimeRange> {
  private rows: JournalRow<T>[] = []
  private nextSeq = 1
  /** No record is older. Most calls of `expire` find nothing, and need no search. */
  private oldestTime = Number.POSITIVE_INFINITY
  private readonly recordFilter: RecordFilter<T, F>

  constructor(recordFilter: RecordFilter<T, F>) {
    this.recordFilter = recordFilter
  }

  /** Appends records. Returns a function that removes them again. */
  append(records: readonly T[]): () => void {
    const first = this.nextSeq
    for (const record of records) {
      this.rows.push({ seq: this.nextSeq++, record })
      this.oldestTime = Math.min(this.oldestTime, this.recordFilter.timeOf(record).getTime())
    }
    const end = this.nextSeq
    return () => {
      this.rows = this.rows.filter(({ seq }) => seq < first || seq >= end)
    }
  }

  list(filter?: F): Page<T> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'newest', [0])
    const edge = after?.[0] as number | undefined
    const rows = (isNewestFirst ? this.rows.toReversed() : this.rows).filter(
      ({ seq, record }) =>
        (edge === undefined || (isNewestFirst ? seq < edge : seq > edge)) &&
        (filter === undefined || matchesFilter(this.recordFilter, record, filter)),
    )
    const items = rows.slice(0, limit).map(({ record }) => record)
    const last = rows[limit - 1]
    return rows.length > limit && last !== undefined
      ? { items, cursor: encodeCursor(isNewestFirst, [last.seq]) }
      : { items }
  }

  find(isWanted: (record: T) => boolean): T | undefined {
    return this.rows.findLast(({ record }) => isWanted(record))?.record
  }

  expire({ before, maxEntries }: { before?: Date | undefined; maxEntries?: number | undefined }): number {
    const count = this.rows.length
    if (before !== undefined && before.getTime() > this.oldestTime)
      this.rows = this.rows.filter(({ record }) => this.recordFilter.timeOf(record) >= before)
    if (maxEntries !== undefined && maxEntries < this.rows.length)
      this.rows = this.rows.slice(this.rows.length - maxEntries)
    return count - this.rows.length
  }

  count(): number {
    return this.rows.length
  }
}
