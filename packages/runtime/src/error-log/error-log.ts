import type { ErrorLogOptions, RuntimeContext } from '@holdfast/config'
import { DAY_MS, deepCopy, type ErrorRecord, ThrottledWarnings } from '@holdfast/records'
import { checkJournalFilter, type ErrorFilter, type Page } from '@holdfast/store'
import { Outbox } from '../events/outbox.js'
import { LabelledValues } from '../metrics/labelled-values.js'
import {
  type ErrorGroupDetails,
  type ErrorGroupFilter,
  ErrorGrouping,
  type ErrorGroups,
  MAX_GROUP_RECORDS,
} from './error-groups.js'
import { ErrorFiles } from './files.js'
import {
  type BreakerOpening,
  createFailureRecord,
  createOpeningRecord,
  type FailedAttempt,
} from './record.js'
import { SharedReads } from './shared-reads.js'

/** How many records can wait for the store or for the disk. */
const OUTBOX_CAPACITY = 5000

/** How many records are read to group them. */
const MAX_GROUPED_RECORDS = 20_000

/** How many records are read at a time. Other work can run between two reads. */
const GROUP_PAGE_SIZE = 1000

/** How many groups are returned by default. */
const DEFAULT_GROUP_LIMIT = 100

/** How many operations have their own counters. */
const MAX_OPERATIONS = 1000

/** The number of error records of one operation since the process started. */
export interface ErrorCounts {
  total: number
  /** By severity; a severity without records is absent. */
  bySeverity: Partial<Record<ErrorRecord['severity'], number>>
}

const formatError = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Writes error records to the store, and to files if a folder is configured. No call waits for it. */
export class ErrorLog {
  private readonly runtime: RuntimeContext
  private readonly options: () => ErrorLogOptions
  private readonly store: Outbox<ErrorRecord>
  private readonly files: Outbox<ErrorRecord>
  private readonly groupReads = new SharedReads()
  private readonly operations = new LabelledValues<ErrorCounts>(
    () => ({ total: 0, bySeverity: {} }),
    MAX_OPERATIONS,
  )

  constructor(runtime: RuntimeContext, options: () => ErrorLogOptions) {
    this.runtime = runtime
    this.options = options
    this.store = this.createOutbox('the store', 'error_records', (records) =>
      runtime.store.errors.append(records),
    )
    const files = new ErrorFiles(runtime.clock, options)
    this.files = this.createOutbox('the error log', 'error_log', (records) => files.write(records))
  }

  /** An attempt failed. */
  recordFailure(attempt: FailedAttempt): ErrorRecord {
    const { runtime } = this
    return this.addRecord(
      createFailureRecord(attempt, {
        timestamp: this.now(),
        isDebug: runtime.isDebug(),
        redact: (value) => runtime.redact(value),
      }),
      attempt.operation,
    )
  }

  /** A breaker opened. */
  recordOpening(opening: BreakerOpening): ErrorRecord {
    return this.addRecord(createOpeningRecord(opening, this.now()), opening.operation ?? opening.id)
  }

  /** Lists error records, newest first. Records that still wait for the store are written first. */
  async list(filter?: ErrorFilter): Promise<Page<ErrorRecord>> {
    checkJournalFilter('error records', filter)
    await this.store.flush()
    return this.runtime.store.errors.list(filter)
  }

  /**
   * Groups the error records of a time range by kind, operation and message, the largest group first. The default time range
   * is the last 24 hours. At most 20,000 records are read, the newest ones; `complete` tells whether these are all.
   */
  async groups(filter: ErrorGroupFilter = {}): Promise<ErrorGroups> {
    const { limit = DEFAULT_GROUP_LIMIT, ...selection } = filter
    const { grouping, range } = await this.readGroups(selection)
    const { from, to, ...rest } = range
    const items = grouping.list(from.getTime(), to.getTime(), limit)
    return { items, from: new Date(from), to: new Date(to), ...rest }
  }

  /** One group of error records with its newest records; undefined if no record belongs to it. */
  async group(groupId: string, filter: ErrorGroupFilter = {}): Promise<ErrorGroupDetails | undefined> {
    const { limit: _, ...selection } = filter
    const { grouping, range, records } = await this.readGroups(selection, groupId)
    const group = grouping.find(groupId, range.from.getTime(), range.to.getTime())
    return group && { ...group, records: deepCopy(records) }
  }

  /** Groups the selected records, and collects the newest records of one group. Concurrent callers share the result. */
  private async readGroups(selection: ErrorGroupFilter, groupId?: string) {
    const { kind, ...filter } = selection
    checkJournalFilter('error records', filter)
    return this.groupReads.run(JSON.stringify([groupId, kind, filter]), async () => {
      const grouping = new ErrorGrouping()
      const records: ErrorRecord[] = []
      const range = await this.readRange(selection, (record) => {
        const id = grouping.add(record)
        if (id === groupId && records.length < MAX_GROUP_RECORDS) records.push(record)
      })
      return { grouping, range, records }
    })
  }

  /** Passes the records of a time range to `add`, newest first, and returns the range that was read. */
  private async readRange(
    selection: ErrorGroupFilter,
    add: (record: ErrorRecord) => void,
  ): Promise<Omit<ErrorGroups, 'items'>> {
    const { kind, ...filter } = selection
    const to = filter.to ?? this.now()
    const from = filter.from ?? new Date(to.getTime() - DAY_MS)
    let scanned = 0
    let oldest = to
    let cursor: string | undefined
    do {
      const page = await this.list({
        ...filter,
        from,
        // A record of this millisecond belongs to a range that ends now.
        ...(filter.to !== undefined && { to }),
        order: 'newest',
        limit: GROUP_PAGE_SIZE,
        cursor,
      })
      for (const record of page.items) {
        oldest = record.timestamp
        if (kind === undefined || record.kind === kind) add(record)
      }
      scanned += page.items.length
      cursor = page.cursor
    } while (cursor !== undefined && scanned < MAX_GROUPED_RECORDS)
    const isComplete = cursor === undefined
    return { from: isComplete ? from : oldest, to, scanned, complete: isComplete }
  }

  /** The number of error records per operation since the process started; beyond 1,000 operations they count as `other`. */
  counts(): Record<string, ErrorCounts> {
    return Object.fromEntries(
      [...this.operations].map(([operation, { total, bySeverity }]) => [
        operation,
        { total, bySeverity: { ...bySeverity } },
      ]),
    )
  }

  /** Writes the waiting records. */
  async flush(): Promise<void> {
    await Promise.all([this.store.flush(), this.files.flush()])
  }

  /** Writes the remaining records and ends the log. */
  async close(): Promise<void> {
    await Promise.all([this.store.close(), this.files.close()])
  }

  private now(): Date {
    return new Date(this.runtime.clock.wall())
  }

  private addRecord(record: ErrorRecord, operation: string): ErrorRecord {
    const counts = this.operations.get(operation)
    counts.total++
    counts.bySeverity[record.severity] = (counts.bySeverity[record.severity] ?? 0) + 1
    this.store.add(record)
    if (this.options().dir !== undefined) this.files.add(record)
    return record
  }

  private createOutbox(
    where: string,
    what: string,
    writeBatch: (records: readonly ErrorRecord[]) => Promise<void>,
  ): Outbox<ErrorRecord> {
    const { runtime } = this
    const warnings = new ThrottledWarnings(runtime.clock, (line) => runtime.warn(line))
    const dropWarnings = new ThrottledWarnings(runtime.clock, (line) => runtime.warn(line))
    return new Outbox<ErrorRecord>({
      clock: runtime.clock,
      capacity: OUTBOX_CAPACITY,
      writeBatch,
      onDropped: (count) => {
        dropWarnings.warn(`${count} error records were dropped because ${where} could not keep up`)
        runtime.emit({
          eventType: 'events_dropped',
          component: 'retry_manager',
          context: { records: what, dropped: count },
        })
      },
      onFailed: (error) =>
        warnings.warn(
          `holdfast: error records could not be written to ${where}, calls are not affected: ${runtime.redact(formatError(error))}`,
        ),
    })
  }
}
