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

const watched = new WeakSet<TransactionPool>()
const ignore = () => {}

/**
 * Listens to errors of idle connections, which would end the process if nobody did. The pool has removed the connection
 * by then; other listeners of the pool are told all the same.
 */
export function watch(pool: TransactionPool): void {
  if (watched.has(pool)) return
  watched.add(pool)
  pool.on?.('error', ignore)
}
