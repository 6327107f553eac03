import { join } from 'node:path'
import type { Clock, Random } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { Store } from '../store.js'
import { parseAddress } from './address.js'
import { DeadLetterAliases } from './aliases.js'
import { PostgresBreakers } from './breakers.js'
import { PostgresDatabase } from './database.js'
import { PostgresDeadLetters } from './dead-letters.js'
import { DiskFallback } from './disk-fallback.js'
import { PostgresJournal, PostgresSessions } from './journal.js'
import {
  auditJournal,
  breakerEventJournal,
  errorJournal,
  eventJournal,
  sessionJournal,
} from './journal-tables.js'
import { PostgresLayers } from './layers.js'
import { PostgresMetrics } from './metrics.js'
import { migrate } from './migrations.js'
import { ReplayNotifications } from './replay-notifications.js'
import { PostgresValues } from './values.js'
import { type NotifyingDeadLetters, withDiskFallback } from './with-disk-fallback.js'

/** Options of a store in PostgreSQL. */
export interface PostgresOptions {
  /** The folder of the disk fallback for dead letters, with one subfolder per database. */
  spillDir: string
  /** The schema of the tables. @defaultValue `?schema=` of the url, else holdfast */
  schema?: string | undefined
  /** The largest number of connections. @defaultValue 8 */
  connections?: number | undefined
  /** Milliseconds that a statement can take. @defaultValue 5000 */
  statementTimeout?: number | undefined
  /** Milliseconds to wait for a connection. @defaultValue 2000 */
  connectTimeout?: number | undefined
  /** Milliseconds that a dead letter waits for the database before it is written to the disk fallback. @defaultValue 1000 */
  addTimeout?: number | undefined
  /** Milliseconds for the last records and the close together. @defaultValue 2500 */
  closeTimeout?: number | undefined
  /** Receives warnings about damaged rows, and about dead letters in the disk fallback. @defaultValue a line on stderr */
  warn?: ((line: string) => void) | undefined
  clock?: Clock | undefined
  random?: Random | undefined
}

/** A store in PostgreSQL. */
export interface PostgresStore extends Store {
  readonly deadLetters: NotifyingDeadLetters
}

/** Creates a store in one schema of a PostgreSQL database, for any number of processes on any number of machines. */
export function openPostgres(url: string, options: PostgresOptions): PostgresStore {
  const { connections = 8, statementTimeout = 5000, connectTimeout = 2000, clock, random } = options
  const { addTimeout = 1000, closeTimeout = 2500 } = options
  const { spillDir, warn = (line: string) => console.error(`holdfast: ${line}`) } = options
  const time = clock ?? systemClock
  const address = parseAddress(url, options.schema)
  const database = new PostgresDatabase(address, {
    connections,
    statementTimeout,
    connectTimeout,
    clock,
    random,
    warn,
  })
  const queue = new PostgresDeadLetters(database)
  const aliases = new DeadLetterAliases(database)
  const target = {
    add: (...input: Parameters<typeof queue.add>) => queue.add(...input),
    async processed(ids: readonly string[]) {
      // One attempt, because a failed move is retried later.
      const others = await aliases.find(ids, 1)
      const processed = await queue.findProcessed([...ids, ...others.values()], 1)
      return new Set(ids.filter((id) => processed.has(id) || processed.has(others.get(id) ?? id)))
    },
    lastDeletedCompletion: () => queue.lastDeletedCompletion(),
    alias: (ids: ReadonlyMap<string, string>) => aliases.save(ids),
  }
  const dir = join(spillDir, address.folder)
  const diskFallback = new DiskFallback({ dir, databaseName: address.description, target, clock, warn })
  const notifications = new ReplayNotifications(database, clock)
  const sessions = new PostgresSessions(database, sessionJournal)
  const events = new PostgresJournal(database, eventJournal)
  const errors = new PostgresJournal(database, errorJournal)
  const audit = new PostgresJournal(database, auditJournal, true)
  const breakerEvents = new PostgresJournal(database, breakerEventJournal)
  const busy = [queue, sessions, events, errors, audit, breakerEvents]
  let closeTimer: unknown
  /** Limits the time, because a stopped server never replies. */
  const startClosing = () => {
    closeTimer ??= time.setTimer(() => database.abortAll(), closeTimeout)
  }
  return {
    kind: 'postgres',
    get damaged() {
      return database.unreadableRows.hasRows
    },
    sessions,
    events,
    errors,
    audit,
    breakerEvents,
    breakers: new PostgresBreakers(database),
    metrics: new PostgresMetrics(database),
    layers: new PostgresLayers(database),
    deadLetters: withDiskFallback({
      database,
      queue,
      aliases,
      diskFallback,
      notifications,
      addTimeout,
      clock,
      random,
    }),
    values: new PostgresValues(database),
    async open() {
      await database.open()
      try {
        await migrate(database)
      } catch (error) {
        await database.close()
        throw error
      }
      notifications.open()
      diskFallback.resume()
    },
    startClosing,
    async close() {
      startClosing()
      await notifications.close()
      await Promise.all(busy.map((part) => part.whenIdle()))
      await diskFallback.close()
      await database.close()
      time.clearTimer(closeTimer)
      closeTimer = undefined
    },
    // The disk of the server is not known here.
    freeSpace: async () => undefined,
  }
}
