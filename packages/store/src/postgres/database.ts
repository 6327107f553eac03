import type { Clock, Guard, Random } from 'holdfast'
import { runOutsideContext, systemClock, systemRandom } from 'holdfast/internal'
import { UnreadableRows } from '../unreadable-rows.js'
import type { DatabaseAddress } from './address.js'
import { createDatabaseGuard } from './database-guard.js'
import { type ClientPool, loadPostgresDriver, type PostgresClient, type PostgresDriver } from './driver.js'
import { createNotOpenError, createUnavailableError, sqlState } from './failure.js'
import { createSqlTransaction, rollBack, type SqlTransaction } from './sql.js'
import { acquireLock, BEGIN_READ, BEGIN_WRITE, beginTransaction, COMMIT } from './statements/connection.js'

export interface DatabaseOptions {
  /** The largest number of connections. */
  connections: number
  /** Milliseconds that a statement can take. */
  statementTimeout: number
  /** Milliseconds to wait for a connection. */
  connectTimeout: number
  clock?: Clock | undefined
  random?: Random | undefined
  /** Receives a line about each damaged row. @defaultValue a line on stderr */
  warn?: ((line: string) => void) | undefined
  /** @defaultValue the package `pg` */
  driver?: PostgresDriver | undefined
  /** Runs a function after the current turn of the event loop. @defaultValue setImmediate */
  runLater?: ((fn: () => void) => void) | undefined
}

/** Options of a transaction. */
export interface PostgresTransactionOptions<T> {
  /** A lock that is held until the end of the transaction: a {@link PostgresDatabase.lockStatement}. */
  lock?: string | undefined
  /** False for records of which a crash of the server can lose the last ones. */
  durable?: boolean | undefined
  /** The largest number of attempts. */
  attempts?: number | undefined
  /**
   * Whether the transaction was committed. Called if the reply to a COMMIT was lost, so that the work is not done twice. Without
   * it the work is repeated.
   */
  isCommitted?: ((sql: SqlTransaction, value: T) => Promise<boolean>) | undefined
}

/** How long the client waits in addition to the timeout of the server. */
const CLIENT_GRACE_MS = 1000

/**
 * One database. Every access is a transaction, because a connection behind a pooler keeps no state between two transactions: no
 * named prepared statements, settings or session locks.
 */
export class PostgresDatabase {
  readonly address: DatabaseAddress
  private readonly options: DatabaseOptions
  /** The qualified name of a table. */
  readonly table = (name: string): string => `"${this.address.schema}"."${name}"`
  /** Runs a function after the current turn of the event loop. */
  readonly runLater: (fn: () => void) => void
  private readonly guard: Guard
  private driver: PostgresDriver | undefined
  private pool: ClientPool | undefined
  private readonly running = new Set<Promise<unknown>>()
  /** All connections, and the controller that aborts everything that waits for them. */
  private readonly clients = new Set<PostgresClient>()
  private abortController = new AbortController()
  private currentCheck: Promise<void> | undefined
  readonly unreadableRows = new UnreadableRows((problem) => {
    const { warn = (line: string) => console.error(`holdfast: ${line}`) } = this.options
    warn(`the PostgreSQL store ${this.address.description}: ${problem}`)
  })

  constructor(address: DatabaseAddress, options: DatabaseOptions) {
    this.address = address
    this.options = options
    const { clock = systemClock, random = systemRandom, connections } = options
    this.runLater = options.runLater ?? ((fn) => void setImmediate(fn))
    const probeLease = options.connectTimeout + options.statementTimeout + 2 * CLIENT_GRACE_MS
    this.guard = createDatabaseGuard({ clock, random, connections, probeLease })
  }

  async open(): Promise<void> {
    if (this.pool !== undefined) return
    this.driver = this.options.driver ?? (await loadPostgresDriver())
    this.abortController = new AbortController()
    this.pool = new this.driver.Pool({
      ...this.clientOptions(),
      max: this.options.connections,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
    })
    // A broken idle connection is replaced at its next use.
    this.pool.on('error', () => {})
    // A broken connection in use rejects its statements. Without a listener here, its error event would end the process.
    this.pool.on('connect', (client) => {
      client.on('error', () => {})
      this.clients.add(client)
    })
    this.pool.on('remove', (client) => this.clients.delete(client))
  }

  async close(): Promise<void> {
    const { pool } = this
    this.pool = undefined
    await Promise.allSettled(this.running)
    // The pool also waits for connections that are being opened, which an abort does not end.
    await Promise.race([pool?.end(), whenAborted(this.abortController.signal)])
    // A connection whose end gets no reply must not keep the process alive.
    for (const { connection } of this.clients) connection?.stream?.unref?.()
    this.clients.clear()
  }

  /** Rejects all running and later transactions with STORE_UNAVAILABLE. */
  abortAll(): void {
    this.abortController.abort(
      createUnavailableError(this.address.displayName, new Error('no reply before the store was closed')),
    )
    this.destroyConnections()
  }

  get isOpen(): boolean {
    return this.pool !== undefined
  }

  /** Creates a connection outside of the pool, for notifications. */
  async createClient(): Promise<PostgresClient> {
    if (this.driver === undefined) throw createNotOpenError(this.address.displayName)
    const client = new this.driver.Client(this.clientOptions())
    this.clients.add(client)
    client.on('end', () => this.clients.delete(client))
    return client
  }

  /**
   * Checks whether the server responds. If it does not, all connections are destroyed and the breaker opens, because otherwise each
   * statement would wait for its timeout.
   */
  check(): Promise<void> {
    this.currentCheck ??= this.probe().finally(() => {
      this.currentCheck = undefined
    })
    return this.currentCheck
  }

  private async probe(): Promise<void> {
    if (this.driver === undefined) return
    const client = new this.driver.Client(this.clientOptions())
    client.on('error', () => {})
    try {
      await client.connect()
    } catch (error) {
      // A server that rejects the connection is available.
      if (sqlState(error) !== undefined || !this.isOpen) return
      this.guard.breaker?.trip()
      this.destroyConnections()
    } finally {
      client.end().catch(() => {})
    }
  }

  private destroyConnections(): void {
    for (const { connection } of this.clients) connection?.stream?.destroy()
  }

  private clientOptions() {
    const { statementTimeout, connectTimeout } = this.options
    return {
      connectionString: this.address.url,
      application_name: 'holdfast',
      connectionTimeoutMillis: connectTimeout,
      query_timeout: statementTimeout + CLIENT_GRACE_MS,
      keepAlive: true,
      pipeline: true,
    }
  }

  /** The statement that acquires an advisory lock of the schema until the end of the transaction. */
  lockStatement(number: number, isShared = false): string {
    return acquireLock(this.address.schema, number, isShared)
  }

  /** Runs a read-only transaction. */
  read<T>(
    work: (sql: SqlTransaction) => Promise<T>,
    options: Pick<PostgresTransactionOptions<T>, 'attempts'> = {},
  ): Promise<T> {
    return this.runTransaction(BEGIN_READ, work, options)
  }

  /** Runs a write transaction. The work is repeated if the transaction failed and can be retried. */
  write<T>(
    work: (sql: SqlTransaction) => Promise<T>,
    transaction: PostgresTransactionOptions<T> = {},
  ): Promise<T> {
    return this.runTransaction(BEGIN_WRITE, work, transaction)
  }

  private async runTransaction<T>(
    begin: string,
    work: (sql: SqlTransaction) => Promise<T>,
    transaction: PostgresTransactionOptions<T>,
  ): Promise<T> {
    const { pool } = this
    if (pool === undefined) throw createNotOpenError(this.address.displayName)
    const { attempts, isCommitted } = transaction
    const prelude = this.prelude(begin, transaction)
    // The result of an attempt whose COMMIT got no reply.
    const unconfirmed: { value?: T; isSet: boolean } = { isSet: false }
    const attempt = async (): Promise<T> => {
      // A connection lives longer than the call that opens it, so it must not keep the async context of the call.
      const client = await runOutsideContext(() => pool.connect())
      let broken: Error | undefined
      let isFinished = false
      const sql = createSqlTransaction(client, (value) => {
        isFinished = true
        Object.assign(unconfirmed, { value, isSet: true })
      })
      try {
        if (unconfirmed.isSet && (await isCommitted?.(sql, unconfirmed.value as T)) === true)
          return unconfirmed.value as T
        unconfirmed.isSet = false
        // Sent together with the first statement of the work. If it fails, the statement fails too, because there is no
        // transaction; the error of the prelude is the cause and is reported.
        const begun = client.query(prelude)
        begun.catch(() => {})
        const value = await work(sql).catch(async (error: unknown) => {
          await begun
          throw error
        })
        await begun
        if (isFinished) return value
        Object.assign(unconfirmed, { value, isSet: true })
        await client.query(COMMIT)
        return value
      } catch (error) {
        broken = await rollBack(client, error)
        throw error
      } finally {
        client.release(broken)
      }
    }
    const running = this.guard.run(attempt, {
      signal: this.abortController.signal,
      ...(attempts !== undefined && { retry: { maxAttempts: attempts } }),
    })
    this.running.add(running)
    try {
      return await running
    } catch (error) {
      throw createUnavailableError(this.address.displayName, error)
    } finally {
      this.running.delete(running)
    }
  }

  private prelude(begin: string, { durable = true, lock }: PostgresTransactionOptions<never>): string {
    const { statementTimeout } = this.options
    const idleTimeout = statementTimeout + CLIENT_GRACE_MS
    return beginTransaction(begin, { statementTimeout, idleTimeout, durable, lock })
  }
}

/** Resolves when a signal is aborted. */
const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
