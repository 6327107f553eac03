import { type Clock, isHoldfastError, type Random } from 'holdfast'
import { DEAD_LETTER_METHODS } from '../../../../store/src/dead-letter-store.js'
import { createDatabaseGuard } from '../../../../store/src/postgres/database-guard.js'
import { createUnavailableError, sqlState } from '../../../../store/src/postgres/failure.js'
import type { Store } from '../../../../store/src/store.js'
import type { Link } from '../../network/link.js'
import type { SimulatedPostgres } from './server.js'

/** A simulated PostgreSQL with its clock. */
export interface SimulatedPostgresHost {
  readonly postgres: SimulatedPostgres
  /** The time of the server, in milliseconds since 1970. */
  now(): number
}

export interface SimulatedStoreOptions {
  readonly host: SimulatedPostgresHost
  /** The name of the node, for the ids of its commands. */
  readonly node: string
  readonly clock: Clock
  readonly random: Random
  /** Creates a connection to the server that is not established yet. */
  connect(): Link
  /** The largest number of connections. @defaultValue 4 */
  readonly connections?: number
  /** Milliseconds to wait for a connection. @defaultValue 2000 */
  readonly connectTimeout?: number
  /** Milliseconds to wait for a reply. @defaultValue 6000 */
  readonly replyTimeout?: number
}

/** A caller of `add` waits with a failed call, so it is tried less often than other methods. */
const ADD_OPTIONS = { retry: { maxAttempts: 2 } }

/** The delay before the store listens again after its connection was lost. */
const LISTEN_AGAIN_MS = 5000

/** How many leases a process with fast handlers acquires or settles in one transaction. */
const LEASE_BATCH_SIZE = 100

const DEFAULT_CONNECTIONS = 4

/** The lease of a probe of the breaker. */
const PROBE_LEASE_MS = 10_000

const DISPLAY_NAME = 'simulated'

/** Connections that are opened when they are needed and replaced when they break. */
class ConnectionPool {
  private readonly idle: Link[] = []
  private readonly options: SimulatedStoreOptions

  constructor(options: SimulatedStoreOptions) {
    this.options = options
  }

  async run<T>(execute: () => T): Promise<T> {
    const { connectTimeout = 2000, replyTimeout = 6000 } = this.options
    const link = this.idle.pop() ?? this.options.connect()
    try {
      if (!link.isOpen) await this.withTimeout(link.open(), connectTimeout, 'no connection')
      const value = await this.withTimeout(link.request(execute), replyTimeout, 'no reply')
      this.idle.push(link)
      return value
    } catch (error) {
      // After an error that the server reported, the connection is still usable.
      if (sqlState(error) !== undefined || isHoldfastError(error)) this.idle.push(link)
      else link.close()
      throw error
    }
  }

  close(): void {
    for (const link of this.idle.splice(0)) link.close()
  }

  private withTimeout<T>(work: Promise<T>, ms: number, problem: string): Promise<T> {
    const { clock } = this.options
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(
        () => reject(Object.assign(new Error(`${problem} within ${ms} ms`), { code: 'ETIMEDOUT' })),
        ms,
      )
      work.then(resolve, reject).finally(() => clock.clearTimer(timer))
    })
  }
}

/**
 * Creates the store of one node on a simulated PostgreSQL. Every method is one transaction: a request that the server executes at
 * once, and a reply. A lost reply is followed by the same request, whose id shows the server that it may have executed the request already.
 */
export function createSimulatedPostgresStore(options: SimulatedStoreOptions): Store {
  const { host, node, clock } = options
  const pool = new ConnectionPool(options)
  const { random, connections = DEFAULT_CONNECTIONS } = options
  const database = createDatabaseGuard({ clock, random, connections, probeLease: PROBE_LEASE_MS })
  const running = new Set<Promise<unknown>>()
  let commandCount = 0
  let isOpen = false
  const stopListening = new Set<() => void>()

  async function call(method: string, args: readonly unknown[]): Promise<unknown> {
    if (!isOpen) throw createUnavailableError(DISPLAY_NAME, new Error('not open'))
    const command = { id: `${node}:${commandCount++}`, method, args }
    const work = database.run(
      () => pool.run(() => host.postgres.execute(command, host.now())),
      method === 'deadLetters.add' ? ADD_OPTIONS : undefined,
    )
    running.add(work)
    try {
      return await work
    } catch (error) {
      throw createUnavailableError(DISPLAY_NAME, error)
    } finally {
      running.delete(work)
    }
  }

  /** An object whose methods are commands. */
  const part = (name: string, methods: readonly string[]): object =>
    Object.fromEntries(
      methods.map((method) => [method, (...args: unknown[]) => call(`${name}.${method}`, args)]),
    )

  const journal = ['append', 'list', 'expire', 'count']

  /** Receives notifications over its own connection, and connects again after a loss. */
  function onRequest(listener: () => void): () => void {
    let isStopped = false
    let timer: unknown
    let unsubscribe = () => {}
    let link: Link | undefined
    const retry = () => {
      unsubscribe()
      if (!isStopped && timer === undefined) timer = clock.setTimer(listen, LISTEN_AGAIN_MS)
    }
    const listen = () => {
      timer = undefined
      const current = options.connect()
      link = current
      current.onReset(retry)
      // A connection of a process that has died is not open.
      const notify = () =>
        current.isOpen ? current.push(() => void (!isStopped && listener())) : unsubscribe()
      current
        .open()
        .then(() =>
          current.request(() => {
            unsubscribe()
            if (current.isOpen) unsubscribe = host.postgres.onRequest(notify)
          }),
        )
        .then(
          () => {
            if (isStopped) unsubscribe()
            else listener()
          },
          () => retry(),
        )
    }
    const stop = () => {
      isStopped = true
      clock.clearTimer(timer)
      unsubscribe()
      link?.close()
      stopListening.delete(stop)
    }
    stopListening.add(stop)
    listen()
    return stop
  }

  const store = {
    kind: 'postgres',
    sessions: part('sessions', [...journal, 'get']),
    events: part('events', journal),
    errors: part('errors', journal),
    audit: part('audit', journal),
    breakerEvents: part('breakerEvents', journal),
    breakers: part('breakers', ['save', 'load', 'delete']),
    metrics: part('metrics', ['save', 'load', 'expire']),
    layers: part('layers', ['latest', 'history', 'append', 'expire', 'rewrite']),
    values: part('values', ['get', 'set', 'delete', 'list']),
    deadLetters: {
      leaseBatch: LEASE_BATCH_SIZE,
      onRequest,
      ...part('deadLetters', ['add', ...DEAD_LETTER_METHODS]),
    },
    async open() {
      isOpen = true
    },
    async close() {
      for (const stop of stopListening) stop()
      await Promise.allSettled(running)
      isOpen = false
      pool.close()
    },
    freeSpace: async () => undefined,
  } as Store
  // The simulation checks the size of everything that a runtime refers to.
  return Object.assign(store, { state: { database, pool, running, stopListening } })
}
