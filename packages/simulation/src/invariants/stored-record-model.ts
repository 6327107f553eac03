import { recordsOf } from '../../../store/src/sqlite/rows.js'
import { Violation } from '../engine/violation.js'
import type { SimulatedDatabase } from '../sqlite/simulated-database.js'

/** The journals, their tables, and the fields that identify their records; empty if there is none. */
const JOURNALS = {
  sessions: { table: 'sessions', field: 'sessionId', column: 'session_id' },
  events: { table: 'events', field: 'eventId', column: 'event_id' },
  errors: { table: 'errors', field: '', column: '' },
  audit: { table: 'audit', field: '', column: '' },
  breakerEvents: { table: 'breaker_events', field: '', column: '' },
} as const
export type JournalName = keyof typeof JOURNALS
export const JOURNAL_NAMES = Object.keys(JOURNALS) as JournalName[]

/** A call has ended after this time: the store waits for locks, and a new thread repeats the call. */
const MAX_CALL_MS = 180_000

/** What a store has promised about a journal. */
interface PromisedJournal {
  /** Acknowledged records that a power failure must not lose, and those that it can lose. */
  flushedCount: number
  unflushedCount: number
  readonly flushedIds: Set<string>
  readonly unflushedIds: Set<string>
  /** Records of calls that failed or were repeated. They may be stored, even twice. */
  uncertainCount: number
  readonly uncertainIds: Set<string>
}

/** A call that appends records, until it has ended. */
export interface StartedAppend {
  onAcknowledged(): void
  onFailed(): void
}

/**
 * The promises about the records in one SQLite file: each acknowledged record is stored once. A power failure can lose records that
 * were not flushed, except for those of the audit.
 */
export class StoredRecordModel {
  acknowledgedCount = 0
  private readonly database: SimulatedDatabase
  private readonly journals = new Map<JournalName, PromisedJournal>()
  /** The calls that have not ended. They are not certain any more if the thread ends. */
  private readonly started = new Set<{
    readonly name: JournalName
    readonly at: number
    isCertain: boolean
  }>()
  private readonly now: () => number

  constructor(database: SimulatedDatabase, now: () => number) {
    this.database = database
    this.now = now
    for (const name of JOURNAL_NAMES)
      this.journals.set(name, {
        flushedCount: 0,
        unflushedCount: 0,
        flushedIds: new Set(),
        unflushedIds: new Set(),
        uncertainCount: 0,
        uncertainIds: new Set(),
      })
  }

  /** A process appends records. */
  onAppend(name: JournalName, records: readonly Record<string, unknown>[]): StartedAppend {
    const { field } = JOURNALS[name]
    const journal = this.journals.get(name) as PromisedJournal
    const ids = field === '' ? [] : records.map((record) => String(record[field]))
    const call = { name, at: this.now(), isCertain: true }
    this.started.add(call)
    // Until it has ended, the call may have stored the records.
    journal.uncertainCount += records.length
    const added = ids.filter((id) => !journal.uncertainIds.has(id))
    for (const id of ids) journal.uncertainIds.add(id)
    return {
      onAcknowledged: () => {
        this.started.delete(call)
        this.acknowledgedCount += records.length
        if (name === 'audit' && this.database.unflushed.has('audit'))
          throw new Violation('records', 'records of the audit were acknowledged and not flushed')
        if (call.isCertain) {
          journal.uncertainCount -= records.length
          journal.unflushedCount += records.length
          for (const id of added) journal.uncertainIds.delete(id)
        }
        for (const id of ids) journal.unflushedIds.add(id)
      },
      onFailed: () => void this.started.delete(call),
    }
  }

  /** The thread has ended. Its process sends the calls without a reply again. */
  onThreadEnded(): void {
    for (const call of this.started) call.isCertain = false
  }

  onProcessEnded(): void {
    this.started.clear()
  }

  /** Everything that was committed is durable. */
  onFlushed(): void {
    for (const journal of this.journals.values()) {
      journal.flushedCount += journal.unflushedCount
      journal.unflushedCount = 0
      for (const id of journal.unflushedIds) journal.flushedIds.add(id)
      journal.unflushedIds.clear()
    }
  }

  /** The machine has lost its power. Records that were not flushed may be lost or not. */
  onPowerLost(): void {
    for (const [name, journal] of this.journals) {
      // A record of the audit is flushed when it is acknowledged.
      if (name === 'audit') continue
      journal.uncertainCount += journal.unflushedCount
      journal.unflushedCount = 0
      for (const id of journal.unflushedIds) journal.uncertainIds.add(id)
      journal.unflushedIds.clear()
    }
  }

  /** Checks that no call has been under way for longer than it may. Its records may be stored or not until it has ended. */
  checkEnded(): void {
    for (const { name, at } of this.started)
      if (this.now() - at > MAX_CALL_MS)
        throw new Violation('hangs', `an append to ${name} has not ended in ${this.now() - at} ms`)
  }

  /** Compares the file with everything that was acknowledged. */
  checkAll(): void {
    for (const [name, journal] of this.journals) this.check(name, journal)
  }

  private check(name: JournalName, journal: PromisedJournal): void {
    const { table, column } = JOURNALS[name]
    const rows = this.database.reader()?.prepare(`SELECT entries, body FROM ${table}`).all([]) ?? []
    const ids = new Map<string, number>()
    let count = 0
    for (const { entries, body } of rows) {
      const records = recordsOf({ body: body as string | Uint8Array }).filter((record) => record !== null)
      if (records.length !== entries)
        throw new Violation(
          'records',
          `a row of ${name} has ${records.length} records, and counts ${entries}`,
        )
      count += records.length
      if (column === '') continue
      for (const record of records) {
        const id = String((record as Record<string, unknown>)[column])
        ids.set(id, (ids.get(id) ?? 0) + 1)
      }
    }
    const least = journal.flushedCount + journal.unflushedCount
    // A call can be repeated several times.
    if (count < least || (journal.uncertainCount === 0 && count > least))
      throw new Violation(
        'records',
        `the file has ${count} ${name}: expected ${least} and up to ${journal.uncertainCount} of calls without a reply`,
      )
    for (const kept of [journal.flushedIds, journal.unflushedIds])
      for (const id of kept)
        if (!ids.has(id))
          throw new Violation('records', `${id} of ${name} was acknowledged, and is not stored`)
    for (const [id, times] of ids)
      if (times > 1 && !journal.uncertainIds.has(id))
        throw new Violation('records', `${id} of ${name} is stored ${times} times`)
  }
}
