import { nextMacrotask } from '../clock.js'

/** A connection of `pg`, or of anything that looks like one. */
export interface TransactionClient {
  /** Runs a statement; `command` of what it answers is the tag of the statement that ran. */
  query(text: string): Promise<unknown>
  /** Gives the connection back to its pool, or has it closed. */
  release(destroy?: boolean): void
  on?(event: 'error', listener: (error: Error) => void): unknown
  removeListener?(event: 'error', listener: (error: Error) => void): unknown
}

/** A pool of connections: `Pool` of `pg`. */
export interface TransactionPool {
  connect(): Promise<TransactionClient>
  on?(event: 'error', listener: (error: Error) => void): unknown
}

/** What a pool's connections are. */
export type ClientOf<P> = P extends { connect: { (): Promise<infer C>; (callback: never): unknown } }
  ? C
  : P extends { connect(): Promise<infer C> }
    ? C
    : never

const observedPools = new WeakSet<TransactionPool>()
const ignoreError = () => {}

/** Pools tell of each connection that they hand out. */
interface AcquireEmitter {
  on?(event: 'acquire', listener: (client: TransactionClient) => void): unknown
}

/**
 * Listens to errors that would end the process if nobody did, and other listeners are told all the same. Of idle
 * connections, which the pool has removed by then; and of one that is just being handed out: the pool has stopped listening,
 * and whoever asked for it hears of it only when all that the server has sent together has been read.
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
