/** The methods of a connection of `pg` that the adapter uses. */
export interface KnexConnection {
  readonly processID?: number
  query(statement: unknown, ...args: unknown[]): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  end(): Promise<void>
}

/** The methods of the client of a Knex instance that the adapter uses. */
export interface KnexClient {
  readonly driverName?: string
  acquireConnection(): Promise<KnexConnection>
  releaseConnection(connection: KnexConnection): unknown
}

/** The methods of a Knex instance that the adapter uses. `Trx` is the type of its transactions. */
export interface KnexInstance<Trx> {
  /** Knex does not describe the type of its client: a {@link KnexClient}. */
  readonly client: unknown
  /** Whether this is a transaction, which cannot be retried as a whole. */
  readonly isTransaction?: boolean | undefined
  /** Runs a function in a transaction. */
  transaction<T>(
    fn: (trx: Trx) => Promise<T>,
    config?: { connection?: unknown; doNotRejectOnRollback?: boolean },
  ): Promise<T>
}
