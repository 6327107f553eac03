import { type Clock, type Guard, guard, isHoldfastError, type Random } from 'holdfast'
import { runOutsideContext, systemClock, systemRandom } from 'holdfast/internal'
import { hashOf } from '../text.js'
import type { DatabaseAddress } from './address.js'
import { type ClientPool, loadPostgresDriver, type PostgresClient, type PostgresDriver } from './driver.js'
import { createNotOpenError, createUnavailableError, isStatementTimeout, sqlState } from './failure.js'
import { createSqlTransaction, rollBack, type SqlTransaction } from './sql.js'

/** How the database is talked to. */
export interface DatabaseOptions {
  /** How many connections there are at the most. */
  connections: number
  /** How long a statement may take, in milliseconds. */
  statementTimeout: number
  /** How long to wait for a connection, in milliseconds. */
  connectTimeout: number
  clock?: Clock | undefined
  random?: Random | undefined
}

/** What a transaction needs besides its work. */
export interface PostgresTransactionOptions<T> {
  /** A lock that is held to the transaction's end: one of {@link PostgresDatabase.lock}. */
  lock?: string | undefined
  /** False for records that a crash of the server may take with it: the last moments of them. */
  durable?: boolean | undefined
  /** How often it is tried. */
  attempts?: number | undefined
  /**
   * Whether what was done is there. Asked where the answer to a COMMIT was lost, so that nothing is done twice; without
   * it the work is done again.
   */
  isCommitted?: ((sql: SqlTransaction, value: T) => Promise<boolean>) | undefined
}

/** How long the client waits beyond the server's own limit, in milliseconds. */
const CLIENT_GRACE_MS = 1000

/** How many pieces of work may wait for a connection. */
const MAX_QUEUED_WORK = 10_000

/**
 * One database. All that is asked of it is a transaction, since nothing else is left of a connection between two
 * transactions behind a pooler: no prepared statements with names, no settings, no locks of a session.
 */
export class PostgresDatabase {
  readonly address: DatabaseAddress
  private readonly options: DatabaseOptions
  private readonly guard: Guard
  private driver: PostgresDriver | undefined
  private pool: ClientPool | undefined
  private readonly running = new Set<Promise<unknown>>()
  /** Connections that there are, and what ends all that waits for them. */
  private readonly clients = new Set<PostgresClient>()
  private cutController = new AbortController()
  private currentCheck: Promise<void> | undefined

  constructor(address: DatabaseAddress, options: DatabaseOptions) {
    this.address = address
    this.options = options
    const { clock = systemClock, random = systemRandom, connections } = options
    this.guard = guard({
      name: 'postgres',
      clock,
      random,
      retry: {
        maxAttempts: 5,
        baseDelay: 100,
        maxDelay: 2000,
        jitterType: 'full',
        jitterAmount: 0.5,
        // What is our own was decided, and a statement that was too slow will be so again.
        abortOn: [isStatementTimeout, (error: unknown) => isHoldfastError(error)],
      },
      // Those that work at a time all fail at once when the server goes.
      breaker: {
        windowType: 'consecutive',
        failureThreshold: 2 * connections + 4,
        timeoutDuration: 500,
        timeoutMultiplier: 2,
        // What waits on this machine's disk is to be moved within seconds of the server's return.
        maxTimeoutDuration: 2000,
        // A test counts however long it may take.
        probeLease: options.connectTimeout + options.statementTimeout + 2 * CLIENT_GRACE_MS,
      },
      bulkhead: { limit: connections, queue: MAX_QUEUED_WORK },
    })
  }

  async open(): Promise<void> {
    if (this.pool !== undefined) return
    this.driver = await loadPostgresDriver()
    this.cutController = new AbortController()
    this.pool = new this.driver.Pool({
      ...this.clientOptions(),
      max: this.options.connections,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
    })
    // A connection that breaks while nobody uses it is replaced when somebody does.
    this.pool.on('error', () => {})
    // One that breaks while it is used says so to whoever waits for an answer; unheard here, it would end the process.
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
    // A connection that is being made is waited for by the pool, and by nobody else once all is cut off.
    await Promise.race([pool?.end(), whenAborted(this.cutController.signal)])
    // One whose end is not answered keeps no process alive.
    for (const { connection } of this.clients) connection?.stream?.unref?.()
    this.clients.clear()
  }

  /** Ends all that waits for an answer, with STORE_UNAVAILABLE, and whatever else is asked from now on. */
  abortAll(): void {
    this.cutController.abort(
      createUnavailableError(this.address.displayName, new Error('it did not answer before the end')),
    )
    this.destroyConnections()
  }

  /** Whether it is open. */
  get isOpen(): boolean {
    return this.pool !== undefined
  }

  /** A connection of its own, outside the pool: for listening. */
  async createClient(): Promise<PostgresClient> {
    if (this.driver === undefined) throw createNotOpenError(this.address.displayName)
    const client = new this.driver.Client(this.clientOptions())
    this.clients.add(client)
    client.on('end', () => this.clients.delete(client))
    return client
  }

  /**
   * Looks whether the server answers at all. Where it does not, all that waits for it is ended, and it is left alone for a
   * moment: each statement would wait for as long as it may take.
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
      // A server that refuses is there.
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

  /** A table's whole name. */
  table(name: string): string {
    return `"${this.address.schema}"."${name}"`
  }

  /** The statement that takes a lock among those who share the schema, to the end of the transaction. */
  lockStatement(number: number, shared = false): string {
    return `SELECT pg_advisory_xact_lock${shared ? '_shared' : ''}(${hashOf(`holdfast:${this.address.schema}`)}, ${number})`
  }

  /** Reads. Nothing it does may change anything. */
  read<T>(
    work: (sql: SqlTransaction) => Promise<T>,
    options: Pick<PostgresTransactionOptions<T>, 'attempts'> = {},
  ): Promise<T> {
    return this.runTransaction('BEGIN READ ONLY', work, options)
  }

  /** Changes what it changes as a whole or not at all. The work may be done again where it came to nothing. */
  write<T>(
    work: (sql: SqlTransaction) => Promise<T>,
    transaction: PostgresTransactionOptions<T> = {},
  ): Promise<T> {
    return this.runTransaction('BEGIN', work, transaction)
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
    // What an attempt made whose COMMIT was not answered.
    const lost: { value?: T; is: boolean } = { is: false }
    const attempt = async (): Promise<T> => {
      // A connection outlives the call for which it is made.
      const client = await runOutsideContext(() => pool.connect())
      let broken: Error | undefined
      let finished = false
      const sql = createSqlTransaction(client, (value) => {
        finished = true
        Object.assign(lost, { value, is: true })
      })
      try {
        if (lost.is && (await isCommitted?.(sql, lost.value as T)) === true) return lost.value as T
        lost.is = false
        // Sent together with the first statement of the work. Should it fail, that finds no transaction it could work in, and
        // it is the first error that tells why.
        const begun = client.query(prelude)
        begun.catch(() => {})
        const value = await work(sql).catch(async (error: unknown) => {
          await begun
          throw error
        })
        await begun
        if (finished) return value
        Object.assign(lost, { value, is: true })
        await client.query('COMMIT')
        return value
      } catch (error) {
        broken = await rollBack(client, error)
        throw error
      } finally {
        client.release(broken)
      }
    }
    const running = this.guard.run(attempt, {
      signal: this.cutController.signal,
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
    const statements = [
      begin,
      `SET LOCAL statement_timeout = ${statementTimeout}`,
      `SET LOCAL lock_timeout = ${statementTimeout}`,
      // A client that is cut off holds its locks no longer than this.
      `SET LOCAL idle_in_transaction_session_timeout = ${statementTimeout + CLIENT_GRACE_MS}`,
    ]
    if (!durable) statements.push('SET LOCAL synchronous_commit = off')
    if (lock !== undefined) statements.push(lock)
    return statements.join('; ')
  }
}

/** Resolves when a signal is aborted. */
const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
