import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Store } from '../store.js'
import { SqliteBreakers } from './breakers.js'
import { Commits } from './commits.js'
import { SqliteDeadLetters } from './dead-letters.js'
import type { DriverName } from './driver.js'
import { SqliteJournal, SqliteSessions } from './journal.js'
import { auditShape, breakerEventShape, errorShape, eventShape, sessionShape } from './journal-shapes.js'
import { SqliteLayers } from './layers.js'
import { SqliteMetrics } from './metrics.js'
import { SqliteValues } from './values.js'

/** What a store in SQLite may be told. */
export interface SqliteOptions {
  /** Which driver to use. @defaultValue Node's own where it has one, else libsql */
  driver?: DriverName | undefined
  /** How long to try while other processes hold the lock, in milliseconds. @defaultValue 10_000 */
  lockTimeout?: number | undefined
}

/** A store in one SQLite file, for any number of processes. The file is made when it is opened. */
export function openSqlite(file: string, { driver, lockTimeout = 10_000 }: SqliteOptions = {}): Store {
  const commits = new Commits(file, { driver, lockTimeout })
  return {
    kind: 'sqlite',
    get damaged() {
      return commits.damaged
    },
    sessions: new SqliteSessions(commits, sessionShape),
    events: new SqliteJournal(commits, eventShape),
    errors: new SqliteJournal(commits, errorShape),
    audit: new SqliteJournal(commits, auditShape, true),
    breakerEvents: new SqliteJournal(commits, breakerEventShape),
    breakers: new SqliteBreakers(commits),
    metrics: new SqliteMetrics(commits),
    layers: new SqliteLayers(commits),
    deadLetters: new SqliteDeadLetters(commits),
    values: new SqliteValues(commits),
    open: () => commits.open(),
    close: () => commits.close(),
    async freeSpace() {
      const { bavail, bsize } = await statfs(dirname(file))
      return bavail * bsize
    },
  }
}
