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

/** What a store in PostgreSQL may be told. */
export interface PostgresOptions {
  /** Where dead letters are kept while the database cannot be had: each database has a folder of its own there. */
  spillDir: string
  /** The schema that holds the tables. @defaultValue `?schema=` of the url, else holdfast */
  schema?: string | undefined
  /** How many connections there are at the most. @defaultValue 8 */
  connections?: number | undefined
  /** How long a statement may take, in milliseconds. @defaultValue 5000 */
  statementTimeout?: number | undefined
  /** How long to wait for a connection, in milliseconds. @defaultValue 2000 */
  connectTimeout?: number | undefined
  /** How long a dead letter waits for the database before it is kept in the spill, in milliseconds. @defaultValue 1000 */
  addTimeout?: number | undefined
  /** How long the last records and the end wait for answers, together, in milliseconds. @defaultValue 2500 */
  closeTimeout?: number | undefined
  /** Hears of dead letters that are kept apart, and moved. @defaultValue a line on stderr */
  warn?: ((line: string) => void) | undefined
  clock?: Clock | undefined
  random?: Random | undefined
}

/** A store in PostgreSQL. */
export interface PostgresStore extends Store {
  readonly deadLetters: NotifyingDeadLetters
}

/** A store in one schema of a PostgreSQL database, for any number of processes on any number of machines. */
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
  })
  const queue = new PostgresDeadLetters(database)
  const aliases = new DeadLetterAliases(database)
  const target = {
    add: (...input: Parameters<typeof queue.add>) => queue.add(...input),
    async processed(ids: readonly string[]) {
      // Asked once: where it fails, moving is tried again later.
      const others = await aliases.find(ids, 1)
      const done = await queue.findProcessed([...ids, ...others.values()], 1)
      return new Set(ids.filter((id) => done.has(id) || done.has(others.get(id) ?? id)))
    },
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
  let cut: unknown
  /** A server that stands still would never answer. */
  const startClosing = () => {
    cut ??= time.setTimer(() => database.abortAll(), closeTimeout)
  }
  return {
    kind: 'postgres',
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
      diskFallback.resume()
    },
    startClosing,
    async close() {
      startClosing()
      await notifications.close()
      await Promise.all(busy.map((part) => part.whenIdle()))
      await diskFallback.close()
      await database.close()
      time.clearTimer(cut)
      cut = undefined
    },
    // Whoever runs the server watches its disk; the one here is not what it lies on.
    freeSpace: async () => undefined,
  }
}
