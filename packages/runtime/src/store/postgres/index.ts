import { join } from 'node:path'
import type { Clock, Random } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import type { Store } from '../store.js'
import { readAddress } from './address.js'
import { Aliases } from './aliases.js'
import { Database } from './database.js'
import { PostgresDeadLetters } from './dead-letters.js'
import { PostgresJournal, PostgresSessions } from './journal.js'
import { auditShape, breakerEventShape, errorShape, eventShape, sessionShape } from './journal-shapes.js'
import { migrate } from './migrations.js'
import { Spill } from './spill.js'
import { spilling, type WakingDeadLetters } from './spilling.js'
import { PostgresBreakers, PostgresLayers, PostgresMetrics, PostgresValues } from './tables.js'
import { Wakeups } from './wakeups.js'

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
  readonly deadLetters: WakingDeadLetters
}

/** A store in one schema of a PostgreSQL database, for any number of processes on any number of machines. */
export function openPostgres(url: string, options: PostgresOptions): PostgresStore {
  const { connections = 8, statementTimeout = 5000, connectTimeout = 2000, clock, random } = options
  const { addTimeout = 1000, closeTimeout = 2500 } = options
  const { spillDir, warn = (line: string) => console.error(`holdfast: ${line}`) } = options
  const time = clock ?? systemClock
  const address = readAddress(url, options.schema)
  const database = new Database(address, { connections, statementTimeout, connectTimeout, clock, random })
  const queue = new PostgresDeadLetters(database)
  const aliases = new Aliases(database)
  const target = {
    add: (...given: Parameters<typeof queue.add>) => queue.add(...given),
    async processed(ids: readonly string[]) {
      // Asked once: where it fails, moving is tried again later.
      const others = await aliases.of(ids, 1)
      const done = await queue.processed([...ids, ...others.values()], 1)
      return new Set(ids.filter((id) => done.has(id) || done.has(others.get(id) ?? id)))
    },
    alias: (ids: ReadonlyMap<string, string>) => aliases.note(ids),
  }
  const dir = join(spillDir, address.folder)
  const spill = new Spill({ dir, of: address.place, target, clock, warn })
  const wakeups = new Wakeups(database, clock)
  const sessions = new PostgresSessions(database, sessionShape)
  const events = new PostgresJournal(database, eventShape)
  const errors = new PostgresJournal(database, errorShape)
  const audit = new PostgresJournal(database, auditShape, true)
  const breakerEvents = new PostgresJournal(database, breakerEventShape)
  const busy = [queue, sessions, events, errors, audit, breakerEvents]
  let cut: unknown
  /** A server that stands still would never answer. */
  const startClosing = () => {
    cut ??= time.setTimer(() => database.cut(), closeTimeout)
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
    deadLetters: spilling({ database, queue, aliases, spill, wakeups, addTimeout, clock, random }),
    values: new PostgresValues(database),
    async open() {
      await database.open()
      try {
        await migrate(database)
      } catch (error) {
        await database.close()
        throw error
      }
      spill.resume()
    },
    startClosing,
    async close() {
      startClosing()
      await wakeups.close()
      await Promise.all(busy.map((part) => part.idle()))
      await spill.close()
      await database.close()
      time.clearTimer(cut)
      cut = undefined
    },
    // Whoever runs the server watches its disk; the one here is not what it lies on.
    freeSpace: async () => undefined,
  }
}
