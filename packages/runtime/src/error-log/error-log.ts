import { Outbox } from '../events/outbox.js'
import type { Kit } from '../kit.js'
import { Labels } from '../metrics/labels.js'
import type { ErrorRecord } from '../records/errors.js'
import { checkJournalFilter } from '../store/filter.js'
import type { ErrorFilter, Page } from '../store/store.js'
import { Complaints } from './complaints.js'
import { ErrorFiles, type ErrorLogOptions } from './files.js'
import { type FailedAttempt, failureRecord, type Opening, openingRecord } from './record.js'

/** How many records may wait for the store, or for the disk. */
const CAPACITY = 5000

/** How many operations are counted by name. */
const OPERATIONS = 1000

/** Error records of one operation since the process began. */
export interface ErrorCounts {
  total: number
  /** By severity; those that never happened are absent. */
  bySeverity: Partial<Record<ErrorRecord['severity'], number>>
}

const explain = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Writes down what fails: to the store, and to files where a folder is configured. No call waits for it. */
export class ErrorLog {
  private readonly kit: Kit
  private readonly options: () => ErrorLogOptions
  private readonly store: Outbox<ErrorRecord>
  private readonly files: Outbox<ErrorRecord>
  private readonly operations = new Labels<ErrorCounts>(() => ({ total: 0, bySeverity: {} }), OPERATIONS)

  constructor(kit: Kit, options: () => ErrorLogOptions) {
    this.kit = kit
    this.options = options
    this.store = this.outbox('the store', 'error_records', (records) => kit.store.errors.append(records))
    const files = new ErrorFiles(kit.clock, options)
    this.files = this.outbox('the error log', 'error_log', (records) => files.write(records))
  }

  /** An attempt failed. */
  failed(attempt: FailedAttempt): ErrorRecord {
    const { kit } = this
    return this.add(
      failureRecord(attempt, {
        timestamp: this.now(),
        debug: kit.debug(),
        redact: (value) => kit.redact(value),
      }),
      attempt.operation,
    )
  }

  /** A breaker opened. */
  opened(opening: Opening): ErrorRecord {
    return this.add(openingRecord(opening, this.now()), opening.operation ?? opening.id)
  }

  /** Newest first, those included that have only just happened. */
  async list(filter?: ErrorFilter): Promise<Page<ErrorRecord>> {
    checkJournalFilter('error records', filter)
    await this.store.flush()
    return this.kit.store.errors.list(filter)
  }

  /** How many there were of each operation since the process began; beyond 1,000 operations under `other`. */
  counts(): Record<string, ErrorCounts> {
    return Object.fromEntries(
      [...this.operations].map(([operation, { total, bySeverity }]) => [
        operation,
        { total, bySeverity: { ...bySeverity } },
      ]),
    )
  }

  /** Writes what waits. */
  async flush(): Promise<void> {
    await Promise.all([this.store.flush(), this.files.flush()])
  }

  /** Writes what can be written and lets go. */
  async close(): Promise<void> {
    await Promise.all([this.store.close(), this.files.close()])
  }

  private now(): Date {
    return new Date(this.kit.clock.wall())
  }

  private add(record: ErrorRecord, operation: string): ErrorRecord {
    const counts = this.operations.get(operation)
    counts.total++
    counts.bySeverity[record.severity] = (counts.bySeverity[record.severity] ?? 0) + 1
    this.store.add(record)
    if (this.options().dir !== undefined) this.files.add(record)
    return record
  }

  private outbox(
    where: string,
    what: string,
    write: (records: readonly ErrorRecord[]) => Promise<void>,
  ): Outbox<ErrorRecord> {
    const { kit } = this
    const complaints = new Complaints(kit.clock, (line) => kit.complain(line))
    const losses = new Complaints(kit.clock, (line) => kit.complain(line))
    return new Outbox<ErrorRecord>({
      clock: kit.clock,
      capacity: CAPACITY,
      write,
      dropped: (count) => {
        losses.say(`${count} error records were dropped because ${where} could not keep up`)
        kit.emit({
          eventType: 'events_dropped',
          component: 'retry_manager',
          context: { records: what, dropped: count },
        })
      },
      failed: (error) =>
        complaints.say(
          `holdfast: ${where} does not take error records, calls go on: ${kit.redact(explain(error))}`,
        ),
    })
  }
}
