import { afterAll, expect, it } from 'vitest'
import type { PostgresTransactionOptions } from '../../src/postgres/database.js'
import { PostgresDeadLetters } from '../../src/postgres/dead-letters.js'
import type { SqlTransaction } from '../../src/postgres/sql.js'
import { at, letter } from '../contract/records.js'
import { openMigratedDatabase } from '../migrated-database.js'
import { PostgresServer } from '../postgres-server.js'

// The result of a replay was stored, but the reply was lost. If another process had leased the first entry of the transaction since, or
// the transaction was committed after the check, the retry took the result for that of another process, and no event reported it.

const server = (await PostgresServer.start()) as PostgresServer
afterAll(() => server?.remove())

type Work = (sql: SqlTransaction) => Promise<unknown>

/** A queue with two leased entries, and a database whose next write is intercepted. */
async function leased(schema: string) {
  const database = await openMigratedDatabase(server.url, schema)
  const queue = new PostgresDeadLetters(database)
  await queue.add([letter(1), letter(2)], { maxEntries: 10 })
  await queue.leaseNext({ statuses: ['pending'], limit: 2 }, 'me', at(90), at(50))
  const write = database.write.bind(database)
  const interceptNextWrite = (
    intercept: (
      work: Work,
      options: PostgresTransactionOptions<never>,
      send: typeof write,
    ) => Promise<unknown>,
  ) => {
    database.write = ((work: Work, options: PostgresTransactionOptions<never>) => {
      database.write = write
      return intercept(work, options, write)
    }) as typeof write
  }
  const settle = () =>
    Promise.all([
      queue.settle('dlq_1', 'me', { status: 'pending', at: at(60) }),
      queue.settle('dlq_2', 'me', { status: 'completed', at: at(60) }),
    ])
  const leaseFirst = () => queue.lease('dlq_1', 'another', at(95), at(61))
  return { database, interceptNextWrite, settle, leaseFirst }
}

it('finds a transaction without a reply although another process has leased its first entry', async () => {
  const { database, interceptNextWrite, settle, leaseFirst } = await leased('lost_reply')
  let isFound: boolean | undefined
  interceptNextWrite(async (work, options, send) => {
    const value = await send(work, options as never)
    await leaseFirst()
    isFound = await database.read(async (sql) => options.isCommitted?.(sql, value as never) ?? false)
    return value
  })
  expect((await settle())[1]?.status).toBe('completed')
  expect(isFound).toBe(true)
})

it('finds a transaction that is committed after the check', async () => {
  const { interceptNextWrite, settle, leaseFirst } = await leased('late_commit')
  interceptNextWrite(async (work, options, send) => {
    await send(work, options as never)
    await leaseFirst()
    return send(work, options as never)
  })
  const [released, completed] = await settle()
  expect([released?.status, completed?.status]).toEqual(['pending', 'completed'])
})
