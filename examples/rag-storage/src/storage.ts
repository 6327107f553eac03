// Two storage classes. Each method needs only one decorator to be retried.
import * as ft from 'holdfast/decorators'
import { isTransientSqlError, withTransaction } from 'holdfast/sql'
import type pg from 'pg'
import { sleep } from './time.js'

export interface Document {
  readonly id: string
  readonly title: string
  readonly chunks: readonly (readonly number[])[]
  readonly entities: readonly string[]
}

/** Three retries, the first after half a second. Constraint violations and invalid arguments are not retried. */
const DATABASE: ft.RetrySettings = {
  maxRetries: 3,
  delay: 500,
  jitter: 100,
  maxDuration: 30_000,
  retryOn: [isTransientSqlError],
  abortOn: ['SQLIntegrityConstraintViolationException', 'IllegalArgumentException'],
}

/** The decorator retries the whole transaction. Each transaction detects that it has run before, so it may run twice. */
const ONCE = { retry: false, retryUnknownCommit: true } as const

export class VectorStorage {
  private readonly pool: pg.Pool

  constructor(pool: pg.Pool) {
    this.pool = pool
  }

  /** Stores a document with its chunks in one transaction. An existing document is not changed. */
  @ft.Retry(DATABASE)
  async addDocument({ id, title, chunks }: Document): Promise<void> {
    if (id === '') throw new RangeError('a document needs an id')
    await withTransaction(
      this.pool,
      async (client) => {
        const added = await client.query(
          'INSERT INTO documents VALUES ($1, $2) ON CONFLICT (id) DO NOTHING RETURNING id',
          [id, title],
        )
        if (added.rowCount === 0) return
        for (const [position, embedding] of chunks.entries())
          await client.query('INSERT INTO chunks VALUES ($1, $2, $3)', [id, position, embedding])
      },
      ONCE,
    )
  }
}

export class GraphStorage {
  private readonly pool: pg.Pool

  constructor(pool: pg.Pool) {
    this.pool = pool
  }

  /** Links a document with entities, in the order given, and counts their mentions. */
  @ft.Retry(DATABASE)
  async upsertEntities(document: string, entities: readonly string[], pause = 0): Promise<void> {
    await withTransaction(
      this.pool,
      async (client) => {
        for (const entity of entities) {
          await client.query('INSERT INTO entities VALUES ($1, 0) ON CONFLICT (name) DO NOTHING', [entity])
          const linked = await client.query(
            'INSERT INTO mentions VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING entity',
            [document, entity],
          )
          if (linked.rowCount === 1)
            await client.query('UPDATE entities SET mentions = mentions + 1 WHERE name = $1', [entity])
          // Holding one row while waiting for the next causes deadlocks with transactions in reverse order.
          if (pause > 0) await sleep(pause)
        }
      },
      ONCE,
    )
  }
}
