import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Store } from '../store.js'
import { SqliteBreakers } from './breakers.js'
import { SqliteDeadLetters } from './dead-letters.js'
import type { SqliteDriverName } from './driver.js'
import { SqliteJournal, SqliteSessions } from './journal.js'
import { auditTable, breakerEventTable, errorTable, eventTable, sessionTable } from './journal-tables.js'
import { SqliteLayers } from './layers.js'
import { SqliteMetrics } from './metrics.js'
import { SqliteValues } from './values.js'
import { WriteQueue } from './write-queue.js'

/** Options of a store in SQLite. */
export interface SqliteOptions {
  /** The driver. @defaultValue that of Node.js if it has one, else libsql */
  driver?: SqliteDriverName | undefined
  /** Milliseconds to wait while other processes hold the lock. @defaultValue 10_000 */
  lockTimeout?: number | undefined
}

/** Creates a store in one SQLite file, for any number of processes. The file is created by `open`. */
export function openSqlite(file: string, { driver, lockTimeout = 10_000 }: SqliteOptions = {}): Store {
  const writes = new WriteQueue(file, { driver, lockTimeout })
  return {
    kind: 'sqlite',
    get damaged() {
      return writes.hasUnreadableRows
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
    open: () => writes.open(),
    close: () => writes.close(),
    async freeSpace() {
      const { bavail, bsize } = await statfs(dirname(file))
      return bavail * bsize
    },
  }
}
