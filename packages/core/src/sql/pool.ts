import { nextMacrotask } from '../clock.js'

/** A connection of `pg`, or an object with the same methods. */
export interface TransactionClient {
  /** Runs a statement; `command` of the result is its command tag. */
  query(text: string): Promise<unknown>
  /** Returns the connection to its pool, or closes it. */
  release(destroy?: boolean): void
  /** Adds a listener for errors of the connection. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  /** Removes a listener. */
  removeListener?(event: 'error', listener: (error: Error) => void): unknown
}

/** A connection pool: `Pool` of `pg`. */
export interface TransactionPool {
  /** Returns a connection, which `release` returns to the pool. */
  connect(): Promise<TransactionClient>
  /** Adds a listener for errors of idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** The connection type of a pool. */
export type ClientOf<P> = P extends { connect: { (): Promise<infer C>; (callback: never): unknown } }
  ? C
  : P extends { connect(): Promise<infer C> }
    ? C
    : never

const observedPools = new WeakSet<TransactionPool>()
const ignoreError = () => {}

/** A pool that emits an event for each connection it hands out. */
interface AcquireEmitter {
  on?(event: 'acquire', listener: (client: TransactionClient) => void): unknown
}

/**
 * Adds error listeners, because an unhandled `error` event would end the process. Such errors occur on idle connections, which
 * the pool has then already removed, and on a connection that is being handed out: the pool has removed its listener, and the
 * caller of `connect` receives the connection only after all data that the server has sent was processed.
 */
export function observePoolErrors(pool: TransactionPool): void {
  if (observedPools.has(pool)) return
  observedPools.add(pool)
  pool.on?.('error', ignoreError)
  ;(pool as unknown as AcquireEmitter).on?.('acquire', (client) => {
    client.on?.('error', ignoreError)
    void nextMacrotask().then(() => client.removeListener?.('error', ignoreError))
  })
}
