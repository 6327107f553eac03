import type { Clock } from 'holdfast'
import type { PooledClient, PostgresDriver } from '../../../../store/src/postgres/driver.js'
import type { Link } from '../../network/link.js'
import type { SimulatedPostgres } from './server.js'
import { type PostgresObserver, PostgresSession } from './session.js'

/** A simulated PostgreSQL with its clock. */
export interface SimulatedPostgresHost {
  readonly postgres: SimulatedPostgres
  /** What the server does for the clients of this host. */
  readonly observer?: PostgresObserver
  /** The time of the server, in milliseconds since 1970. */
  now(): number
}

export interface SimulatedDriverOptions {
  readonly host: SimulatedPostgresHost
  readonly clock: Clock
  /** Creates a connection to the server that is not established yet. */
  connect(): Link
}

type ClientOptions = ConstructorParameters<PostgresDriver['Client']>[0]
type PoolOptions = ConstructorParameters<PostgresDriver['Pool']>[0]
type Result = Awaited<ReturnType<PooledClient['query']>>
type Listener = (...args: never[]) => void

/** What the server replies to a statement. */
interface Executed {
  readonly result?: Result
  readonly error?: Error
}

/** A statement that was not sent yet, or has no reply. */
interface PendingQuery {
  /**
   * Executes the statement on the server. The values are not a property: they are the waiting records, once for each column, and the
   * model of the memory counts the records where they wait.
   */
  execute(): Executed
  resolve(result: Result): void
  reject(error: Error): void
  /** When the client stops waiting for the reply, by its clock. */
  readonly dueAt: number
}

/** Listeners by the name of the event. */
class Emitter {
  private readonly listeners = new Map<string, Listener[]>()

  on(event: string, listener: Listener): this {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), listener])
    return this
  }

  protected emit(event: string, ...args: unknown[]): void {
    for (const listener of this.listeners.get(event) ?? [])
      (listener as (...args: unknown[]) => void)(...args)
  }
}

/** A client with the behavior of `pg`. Statements of one turn of the event loop arrive together, because they are pipelined. */
class Client extends Emitter {
  readonly connection = { stream: { on: () => {}, destroy: () => this.onEnded(), unref: () => {} } }
  private readonly driver: SimulatedDriverOptions
  private readonly options: ClientOptions
  private readonly link: Link
  private readonly session: PostgresSession
  /** The statements of this turn, which are not sent yet. */
  private pending: PendingQuery[] = []
  /** All statements without a reply, oldest first. */
  private readonly waiting = new Set<PendingQuery>()
  /** Fires when the oldest statement can have waited too long. Most of the 50,000 statements of a seed need no timer of their own. */
  private timer: unknown
  private isEnded = false
  private unlisten = () => {}
  /** Returns the client to its pool. The pool sets it. */
  release: (broken?: Error | boolean) => void = () => {}

  constructor(driver: SimulatedDriverOptions, options: ClientOptions) {
    super()
    this.driver = driver
    this.options = options
    this.link = driver.connect()
    this.session = new PostgresSession(driver.host.postgres, driver.host.observer ?? {}, this.link)
    this.link.onReset(() => this.onEnded())
  }

  connect(): Promise<void> {
    const { connectionTimeoutMillis: ms } = this.options
    return this.withTimeout(this.link.open(), ms, 'timeout expired').catch((error: unknown) => {
      this.onEnded()
      throw error
    })
  }

  query(text: string, values: readonly unknown[] = []): Promise<Result> {
    if (this.isEnded) return Promise.reject(new Error('Client was closed and is not queryable'))
    const dueAt = this.driver.clock.now() + this.options.query_timeout
    return new Promise((resolve, reject) => {
      if (this.pending.length === 0) queueMicrotask(() => this.send())
      const query = { execute: () => this.execute(text, values), resolve, reject, dueAt }
      this.pending.push(query)
      this.waiting.add(query)
      if (this.timer === undefined) this.startTimer(this.options.query_timeout)
    })
  }

  /** Starts the timer of the oldest statement. It fires at most once per timeout while there are statements. */
  private startTimer(ms: number): void {
    this.timer = this.driver.clock.setTimer(() => this.onTimer(), ms)
  }

  private onTimer(): void {
    this.timer = undefined
    const now = this.driver.clock.now()
    for (const query of this.waiting) {
      if (query.dueAt > now) return this.startTimer(query.dueAt - now)
      this.waiting.delete(query)
      query.reject(new Error('Query read timeout'))
    }
  }

  async end(): Promise<void> {
    this.onEnded()
  }

  private send(): void {
    const queries = this.pending
    this.pending = []
    if (this.isEnded) return
    let executed: Executed[] | undefined
    this.link
      // A transaction is a sequence of statements, each of which the server receives once, also if the network repeats messages.
      .request(() => (executed ??= queries.map((query) => query.execute())))
      .then(
        (results) => {
          for (const [i, query] of queries.entries()) {
            this.waiting.delete(query)
            const { result, error } = results[i] as Executed
            if (result !== undefined) query.resolve(result)
            else query.reject(error as Error)
          }
        },
        (error: Error) => {
          for (const query of queries) {
            this.waiting.delete(query)
            query.reject(error)
          }
        },
      )
  }

  /** Executes a statement on the server. */
  private execute(text: string, values: readonly unknown[]): Executed {
    try {
      const result = this.session.execute(text, values, this.driver.host.now(), !this.link.isOpen)
      if (text.startsWith('LISTEN')) this.listen()
      return { result }
    } catch (error) {
      return { error: error as Error }
    }
  }

  private listen(): void {
    const { link } = this
    this.unlisten()
    if (!link.isOpen) return
    // A connection of a process that has died is not open.
    const notify = () =>
      link.isOpen ? link.push(() => this.emit('notification', { channel: '' })) : this.unlisten()
    this.unlisten = this.driver.host.postgres.onRequest(notify)
  }

  /** The connection has ended, by this client or by the network. */
  private onEnded(): void {
    if (this.isEnded) return
    this.isEnded = true
    this.unlisten()
    this.link.close()
    this.driver.clock.clearTimer(this.timer)
    const lost = [...this.waiting]
    this.waiting.clear()
    for (const { reject } of lost) reject(new Error('Connection terminated unexpectedly'))
    this.emit('end')
  }

  private withTimeout<T>(work: Promise<T>, ms: number, problem: string): Promise<T> {
    const { clock } = this.driver
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(() => reject(new Error(problem)), ms)
      work.then(
        (value) => {
          clock.clearTimer(timer)
          resolve(value)
        },
        (error: unknown) => {
          clock.clearTimer(timer)
          reject(error)
        },
      )
    })
  }

  get isUsable(): boolean {
    return !this.isEnded && this.link.isOpen
  }
}

/** A client of a pool, until it is released. */
interface Waiter {
  resolve(client: PooledClient): void
}

/** A pool with the behavior of that of `pg`: at most `max` clients, and a limited time to wait for one. */
class Pool extends Emitter {
  private readonly driver: SimulatedDriverOptions
  private readonly options: PoolOptions
  private readonly idle: Client[] = []
  private readonly waiters: Waiter[] = []
  private count = 0
  private onEmpty: (() => void) | undefined

  constructor(driver: SimulatedDriverOptions, options: PoolOptions) {
    super()
    this.driver = driver
    this.options = options
  }

  async connect(): Promise<PooledClient> {
    for (let client = this.idle.pop(); client !== undefined; client = this.idle.pop()) {
      if (client.isUsable) return this.lend(client)
      this.remove(client)
    }
    if (this.count >= this.options.max) return this.waitForClient()
    this.count++
    const client = new Client(this.driver, this.options)
    try {
      await client.connect()
    } catch (error) {
      this.count--
      this.checkEmpty()
      throw error
    }
    this.emit('connect', client)
    return this.lend(client)
  }

  /** Resolves when all clients are released and closed. */
  end(): Promise<void> {
    for (const client of this.idle.splice(0)) this.remove(client)
    return new Promise((resolve) => {
      this.onEmpty = resolve
      this.checkEmpty()
    })
  }

  private waitForClient(): Promise<PooledClient> {
    const { clock } = this.driver
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        resolve: (client) => {
          clock.clearTimer(timer)
          resolve(client)
        },
      }
      const timer = clock.setTimer(() => {
        this.waiters.splice(this.waiters.indexOf(waiter), 1)
        reject(new Error('timeout exceeded when trying to connect'))
      }, this.options.connectionTimeoutMillis)
      this.waiters.push(waiter)
    })
  }

  private lend(client: Client): PooledClient {
    let isReleased = false
    client.release = (broken) => {
      if (isReleased) throw new Error('Release called on client which has already been released to the pool.')
      isReleased = true
      if (broken || !client.isUsable || this.onEmpty !== undefined) return this.remove(client)
      const waiter = this.waiters.shift()
      if (waiter === undefined) this.idle.push(client)
      else waiter.resolve(this.lend(client))
    }
    return client as PooledClient
  }

  /** How many clients are in use. */
  get lentCount(): number {
    return this.count - this.idle.length
  }

  private remove(client: Client): void {
    this.count--
    void client.end()
    this.emit('remove', client)
    this.checkEmpty()
    const waiter = this.count < this.options.max ? this.waiters.shift() : undefined
    // The waiter gets a timeout if no connection can be opened.
    if (waiter !== undefined) void this.connect().then(waiter.resolve, () => {})
  }

  private checkEmpty(): void {
    if (this.count === 0) this.onEmpty?.()
  }
}

/** Creates a driver of a simulated PostgreSQL. */
export function createSimulatedPostgresDriver(driver: SimulatedDriverOptions): PostgresDriver {
  // Functions and not classes of their own, so that the clients of all processes have one class, which is faster.
  function createClient(options: ClientOptions): Client {
    return new Client(driver, options)
  }
  function createPool(options: PoolOptions): Pool {
    return new Pool(driver, options)
  }
  return { Client: createClient, Pool: createPool } as unknown as PostgresDriver
}
