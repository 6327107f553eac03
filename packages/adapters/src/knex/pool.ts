import type { TransactionClient } from 'holdfast/sql'
import type { KnexClient, KnexConnection } from './types.js'

/** The fields that Knex adds to a connection. */
interface KnexFields {
  /** The reason for which Knex closes the connection instead of using it again. */
  __knex__disposed?: unknown
  __knexTxId?: unknown
}

/** A connection of Knex with the methods that `withTransaction` of `holdfast/sql` calls. */
export class PooledConnection implements TransactionClient {
  readonly raw: KnexConnection
  private readonly client: KnexClient

  constructor(client: KnexClient, raw: KnexConnection) {
    this.client = client
    this.raw = raw
  }

  get processID(): number | undefined {
    return this.raw.processID
  }

  async query(text: string): Promise<unknown> {
    return this.raw.query(text)
  }

  /** Knex removes a disposed connection only when it is next taken from the pool, so it is closed here. */
  release(destroy = false): void {
    const { raw, client } = this
    const fields: KnexFields = raw as KnexFields
    delete fields.__knexTxId
    if (destroy) {
      fields.__knex__disposed = new Error('the connection was closed by withTransaction')
      raw.end().catch(() => {})
    }
    void client.releaseConnection(raw)
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.raw.on(event, listener)
  }

  removeListener(event: 'error', listener: (error: Error) => void): void {
    this.raw.removeListener(event, listener)
  }
}

/** The pool of a Knex instance, in the form of a pool of `pg`. */
export const createPool = (client: KnexClient): { connect(): Promise<PooledConnection> } => ({
  connect: async () => new PooledConnection(client, await client.acquireConnection()),
})
