import type { AuditRecord, CircuitBreakerEvent, ErrorRecord, RetryEvent } from '@holdfast/records'
import type { AuditFilter, BreakerEventFilter, ErrorFilter, EventFilter } from '../journals.js'
import type { BreakerStore, LayerStore, MetricsStore, ValueStore } from '../store.js'
import { SqliteBreakers } from './breakers.js'
import type { DeadLetterRows } from './dead-letter-buffer.js'
import { SqliteDeadLetters } from './dead-letters.js'
import type { SqliteDriverName } from './driver.js'
import { SqliteJournal, SqliteSessions } from './journal.js'
import type { JournalRows, SessionRows } from './journal-buffer.js'
import { auditTable, breakerEventTable, errorTable, eventTable, sessionTable } from './journal-tables.js'
import { SqliteLayers } from './layers.js'
import { SqliteMetrics } from './metrics.js'
import type { SqlitePlatform } from './platform.js'
import { SqliteValues } from './values.js'
import { WriteQueue } from './write-queue.js'

/** How the tables of a file are opened. */
export interface TableOptions {
  /** The driver. @defaultValue that of Node.js if it has one, else libsql */
  driver?: SqliteDriverName | undefined
  /** Milliseconds to wait while other processes hold the lock. @defaultValue 10_000 */
  lockTimeout?: number | undefined
}

/** The connection to a file. */
interface SqliteFile {
  /** Creates the file if it is missing, and runs migrations. */
  open(): Promise<void>
  /** Continues with a file that was open before. A missing file is an error. */
  resume(): Promise<void>
  /** Waits for all writes and closes the file. */
  close(): Promise<void>
}

/** The tables of one file. All arguments and results are plain data, so that they can be sent to another thread. */
export interface SqliteTables {
  readonly file: SqliteFile
  readonly sessions: SessionRows
  readonly events: JournalRows<RetryEvent, EventFilter>
  readonly errors: JournalRows<ErrorRecord, ErrorFilter>
  readonly audit: JournalRows<AuditRecord, AuditFilter>
  readonly breakerEvents: JournalRows<CircuitBreakerEvent, BreakerEventFilter>
  readonly breakers: BreakerStore
  readonly metrics: MetricsStore
  readonly layers: LayerStore
  readonly deadLetters: DeadLetterRows
  readonly values: ValueStore
}

/** Creates the tables of a file in this thread, and the queue of their writes. */
export function createTables(
  file: string,
  { driver, lockTimeout = 10_000 }: TableOptions,
  platform?: SqlitePlatform,
): { tables: SqliteTables; writes: WriteQueue } {
  const writes = new WriteQueue(file, { driver, lockTimeout, platform })
  const tables: SqliteTables = {
    file: {
      open: () => writes.open(),
      resume: async () => writes.resume(),
      close: () => writes.close(),
    },
    sessions: new SqliteSessions(writes, sessionTable),
    events: new SqliteJournal(writes, eventTable),
    errors: new SqliteJournal(writes, errorTable),
    audit: new SqliteJournal(writes, auditTable, true),
    breakerEvents: new SqliteJournal(writes, breakerEventTable),
    breakers: new SqliteBreakers(writes),
    metrics: new SqliteMetrics(writes),
    layers: new SqliteLayers(writes),
    deadLetters: new SqliteDeadLetters(writes),
    values: new SqliteValues(writes),
  }
  return { tables, writes }
}
