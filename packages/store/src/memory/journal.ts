import { deepCopy, type RetrySession } from '@holdfast/records'
import { encodeCursor, parsePaging } from '../cursor.js'
import { matchesFilter, type RecordFilter } from '../filters.js'
import type { Journal, Page, SessionFilter, SessionJournal, TimeRangeFilter } from '../journals.js'

/**
 * The newest `maxEntries` records in the order of insertion. They are stored as they are, and copied when they are read, as on a
 * disk.
 */
export class MemoryJournal<T, F extends TimeRangeFilter> implements Journal<T, F> {
  /** The records and their numbers, oldest first. Those before `head` are deleted. */
  private records: (T | undefined)[] = []
  private numbers: number[] = []
  private head = 0
  private next = 1
  private readonly recordFilter: RecordFilter<T, F>
  private readonly maxEntries: number

  constructor(recordFilter: RecordFilter<T, F>, maxEntries: number) {
    this.recordFilter = recordFilter
    this.maxEntries = maxEntries
  }

  async append(records: readonly T[]): Promise<void> {
    for (const record of records) {
      this.records.push(record)
      this.numbers.push(this.next++)
      this.onAdded(record)
    }
    this.removeOldest(this.records.length - this.head - this.maxEntries)
  }

  async list(filter?: F): Promise<Page<T>> {
    const { limit, isNewestFirst, after } = parsePaging(filter, 'newest', [0])
    const last = after?.[0] as number | undefined
    const items: T[] = []
    let end = 0
    const step = isNewestFirst ? -1 : 1
    let i = this.startIndex(isNewestFirst, last)
    for (; i >= this.head && i < this.records.length; i += step) {
      const record = this.records[i] as T
      if (filter !== undefined && !matchesFilter(this.recordFilter, record, filter)) continue
      if (items.length === limit) return { items, cursor: encodeCursor(isNewestFirst, [end]) }
      items.push(deepCopy(record))
      end = this.numbers[i] as number
    }
    return { items }
  }

  private startIndex(isNewestFirst: boolean, last: number | undefined): number {
    if (last === undefined) return isNewestFirst ? this.records.length - 1 : this.head
    return isNewestFirst ? this.indexOf(last) - 1 : this.indexOf(last + 1)
  }

  /** The index of the first record whose number is at least this one. */
  private indexOf(number: number): number {
    let low = this.head
    let high = this.numbers.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.numbers[middle] as number) < number) low = middle + 1
      else high = middle
    }
    return low
  }

  async expire(limits: { before?: Date | undefined; maxEntries?: number | undefined }): Promise<number> {
    const count = this.records.length - this.head
    const { before, maxEntries = Number.POSITIVE_INFINITY } = limits
    if (before !== undefined) this.removeOlder(before)
    this.removeOldest(this.records.length - this.head - maxEntries)
    return count - (this.records.length - this.head)
  }

  /** Checks every record, because a clock that was set back may have left old records among newer ones. */
  private removeOlder(before: Date): void {
    const records: T[] = []
    const numbers: number[] = []
    for (let i = this.head; i < this.records.length; i++) {
      const record = this.records[i] as T
      if (this.recordFilter.timeOf(record) < before) {
        this.onRemoved(record)
        continue
      }
      records.push(record)
      numbers.push(this.numbers[i] as number)
    }
    this.records = records
    this.numbers = numbers
    this.head = 0
  }

  /** Deletes the oldest records. The arrays are shortened once half of them is unused. */
  private removeOldest(count: number): void {
    for (let i = 0; i < count; i++) {
      this.onRemoved(this.records[this.head] as T)
      this.records[this.head++] = undefined
    }
    if (this.head > 1024 && this.head * 2 > this.records.length) {
      this.records = this.records.slice(this.head)
      this.numbers = this.numbers.slice(this.head)
      this.head = 0
    }
  }

  async count(): Promise<number> {
    return this.records.length - this.head
  }

  /** Called for each added and removed record, for subclasses with an index. */
  protected onAdded(_record: T): void {}
  protected onRemoved(_record: T): void {}
}

/** A journal of sessions, which can also be read by id. */
export class MemorySessions extends MemoryJournal<RetrySession, SessionFilter> implements SessionJournal {
  private readonly byId = new Map<string, RetrySession>()

  async get(id: string): Promise<RetrySession | undefined> {
    return deepCopy(this.byId.get(id))
  }

  protected override onAdded(session: RetrySession): void {
    this.byId.set(session.sessionId, session)
  }

  protected override onRemoved(session: RetrySession): void {
    if (this.byId.get(session.sessionId) === session) this.byId.delete(session.sessionId)
  }
}
