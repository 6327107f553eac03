import type { Pool, PoolClient } from 'pg'
import { expectTypeOf } from 'vitest'
import { withTransaction } from '../../src/sql/index.js'

declare const pool: Pool

const rows = withTransaction(pool, async (client, attempt) => {
  expectTypeOf(client).toEqualTypeOf<PoolClient>()
  expectTypeOf(attempt.number).toBeNumber()
  const { rows: found } = await client.query<{ id: string }>('SELECT id FROM nodes')
  return found
})
expectTypeOf(rows).toEqualTypeOf<Promise<{ id: string }[]>>()

// A function that does not return a promise, and a minimal pool.
expectTypeOf(withTransaction(pool, () => 7)).toEqualTypeOf<Promise<number>>()

// @ts-expect-error -- transactions are not hedged
void withTransaction(pool, () => 7, { hedge: { delay: 5 } })
// @ts-expect-error -- breaker options are rejected, because a breaker must be shared between calls
void withTransaction(pool, () => 7, { breaker: { failureThreshold: 5 } })
// @ts-expect-error -- an unknown isolation level
void withTransaction(pool, () => 7, { isolation: 'snapshot' })
// @ts-expect-error -- not a pool
void withTransaction({}, () => 7)
