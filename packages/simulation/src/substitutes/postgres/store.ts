import type { Clock, Random } from 'holdfast'
import { DEAD_LETTER_METHODS } from '../../../../store/src/dead-letter-store.js'
import { parseAddress } from '../../../../store/src/postgres/address.js'
import { DeadLetterAliases } from '../../../../store/src/postgres/aliases.js'
import { PostgresDatabase } from '../../../../store/src/postgres/database.js'
import type { PostgresDeadLetters } from '../../../../store/src/postgres/dead-letters.js'
import { DiskFallback } from '../../../../store/src/postgres/disk-fallback.js'
import type { FallbackFolder } from '../../../../store/src/postgres/fallback-folder.js'
import { PostgresLayers } from '../../../../store/src/postgres/layers.js'
import { ReplayNotifications } from '../../../../store/src/postgres/replay-notifications.js'
import { withDiskFallback } from '../../../../store/src/postgres/with-disk-fallback.js'
import type { Store } from '../../../../store/src/store.js'
import type { Link } from '../../network/link.js'
import { simulateAliasStatements } from './alias-rows.js'
import { createSimulatedPostgresDriver, type SimulatedPostgresHost } from './driver.js'
import { createSimulatedJournals } from './journal-statements.js'
import { simulateLayerStatements } from './layer-rows.js'
import { isRead } from './server.js'
import { EXECUTE, SELECT_RESULT } from './session.js'

export interface SimulatedStoreOptions {
  readonly host: SimulatedPostgresHost
  /** The name of the node, for the ids of its commands. */
  readonly node: string
  readonly clock: Clock
  readonly random: Random
  /** Creates a connection to the server that is not established yet. */
  connect(): Link
  /** Runs a function after the current turn of the event loop. @defaultValue setImmediate */
  readonly runLater?: ((fn: () => void) => void) | undefined
  /** The folder of the disk fallback; without it, a dead letter is rejected while the server is not available. */
  readonly fallbackFolder?: FallbackFolder | undefined
}

/** A caller of `add` waits with a failed call, so it is tried less often than other methods. */
const ADD_ATTEMPTS = 2

/** How many leases a process with fast handlers acquires or settles in one transaction. */
const LEASE_BATCH_SIZE = 100

const CONNECTIONS = 4
const STATEMENT_TIMEOUT_MS = 5000
const CONNECT_TIMEOUT_MS = 2000
const CLOSE_TIMEOUT_MS = 2500
const ADD_TIMEOUT_MS = 1000

/** The rows of a command. */
interface CommandRows {
  rows: { value: unknown }[]
}

/**
 * Creates the store of one node on a simulated PostgreSQL. The journals and the live changes are those of the store, with other statements. Every other
 * method is one transaction of the real {@link PostgresDatabase}, with one statement that the server executes at once. After a lost
 * reply, the id of the command shows whether the server has executed it.
 */
export function createSimulatedPostgresStore(options: SimulatedStoreOptions): Store {
  const { host, node, clock, random, connect, runLater, fallbackFolder } = options
  const database = new PostgresDatabase(parseAddress('postgres://simulated/holdfast'), {
    connections: CONNECTIONS,
    statementTimeout: STATEMENT_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    clock,
    random,
    runLater,
    driver: createSimulatedPostgresDriver({ host, clock, connect }),
  })
  const notifications = new ReplayNotifications(database, clock)
  let commandCount = 0
  let closeTimer: unknown

  async function call(method: string, args: readonly unknown[]): Promise<unknown> {
    const command = { id: `${node}:${commandCount++}`, method, args } as never
    if (isRead(method)) {
      const { rows } = await database.read((sql) =>
        sql.finishInto({ rows: [] } as CommandRows, EXECUTE, command),
      )
      return rows[0]?.value
    }
    const { rows } = await database.write<CommandRows>(
      (sql) => sql.finishInto({ rows: [] } as CommandRows, EXECUTE, command),
      {
        ...(method === 'deadLetters.add' && { attempts: ADD_ATTEMPTS }),
        isCommitted: async (sql, value) => {
          value.rows = await sql.all(SELECT_RESULT, (command as { id: string }).id)
          return value.rows.length > 0
        },
      },
    )
    return rows[0]?.value
  }

  /** An object whose methods are commands. */
  const part = (name: string, methods: readonly string[]): object =>
    Object.fromEntries(
      methods.map((method) => [method, (...args: unknown[]) => call(`${name}.${method}`, args)]),
    )

  const journals = createSimulatedJournals(database)
  const queue = {
    leaseBatch: LEASE_BATCH_SIZE,
    onRequest: (listener: () => void) => notifications.subscribe(listener),
    ...part('deadLetters', ['add', ...DEAD_LETTER_METHODS]),
  } as unknown as Store['deadLetters']
  const fallback = fallbackFolder && createFallback(fallbackFolder)

  /** The disk fallback of the store, in front of the queue. */
  function createFallback(folder: FallbackFolder) {
    const aliases = simulateAliasStatements(new DeadLetterAliases(database))
    const findProcessed = async (ids: readonly string[]) => {
      const found = await Promise.all(ids.map((id) => queue.isProcessed(id)))
      return new Set(ids.filter((_, i) => found[i]))
    }
    const target = {
      add: queue.add,
      async processed(ids: readonly string[]) {
        const others = await aliases.find(ids, 1)
        const processed = await findProcessed([...ids, ...others.values()])
        return new Set(ids.filter((id) => processed.has(id) || processed.has(others.get(id) ?? id)))
      },
      lastDeletedCompletion: async () => undefined,
      alias: (ids: ReadonlyMap<string, string>) => aliases.save(ids),
    }
    const warn = (line: string) => console.error(`holdfast: ${line}`)
    const diskFallback = new DiskFallback({ dir: '/fallback', databaseName: '', target, clock, folder, warn })
    const deadLetters = withDiskFallback({
      database,
      queue: queue as unknown as PostgresDeadLetters,
      aliases,
      diskFallback,
      notifications,
      addTimeout: ADD_TIMEOUT_MS,
      clock,
      random,
    })
    return { diskFallback, deadLetters }
  }

  /** Limits the time of a close, because a stopped server never replies. */
  const startClosing = () => {
    closeTimer ??= clock.setTimer(() => database.abortAll(), CLOSE_TIMEOUT_MS)
  }

  const store = {
    kind: 'postgres',
    ...journals,
    breakers: part('breakers', ['save', 'load', 'delete']),
    metrics: part('metrics', ['save', 'load', 'expire']),
    layers: simulateLayerStatements(new PostgresLayers(database)),
    values: part('values', ['get', 'set', 'delete', 'list']),
    deadLetters: fallback?.deadLetters ?? queue,
    async open() {
      await database.open()
      fallback?.diskFallback.resume()
    },
    startClosing,
    async close() {
      startClosing()
      await notifications.close()
      await Promise.all(Object.values(journals).map((journal) => journal.whenIdle()))
      await fallback?.diskFallback.close()
      await database.close()
      clock.clearTimer(closeTimer)
      closeTimer = undefined
    },
    freeSpace: async () => undefined,
  } as unknown as Store
  // The simulation checks the size of everything that a runtime refers to.
  return Object.assign(store, {
    state: { database, notifications, queue, diskFallback: fallback?.diskFallback },
  })
}
