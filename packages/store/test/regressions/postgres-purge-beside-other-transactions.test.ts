import { afterAll, expect, it } from 'vitest'
import type { PostgresDatabase, PostgresTransactionOptions } from '../../src/postgres/database.js'
import { PostgresDeadLetters } from '../../src/postgres/dead-letters.js'
import type { SqlTransaction } from '../../src/postgres/sql.js'
import { at, letter } from '../contract/records.js'
import { openMigratedDatabase } from '../migrated-database.js'
import { PostgresServer } from '../postgres-server.js'

// A purge ended with the first batch of which another transaction had leased or deleted an entry meanwhile, and left all later entries.
// A purge whose COMMIT got no reply was repeated, so that it deleted up to twice as many entries as its limit allows.

const server = (await PostgresServer.start()) as PostgresServer
afterAll(() => server?.remove())

type Work = (sql: SqlTransaction) => Promise<unknown>

/** A queue with entries. */
async function filled(schema: string, entries: number) {
  const database = await openMigratedDatabase(server.url, schema)
  const queue = new PostgresDeadLetters(database)
  await queue.add(
    Array.from({ length: entries }, (_, i) => letter(i + 1)),
    { maxEntries: entries },
  )
  return { database, queue }
}

/** Resolves when a transaction waits for another one. */
async function untilWaiting(database: PostgresDatabase): Promise<void> {
  const isWaiting = (sql: SqlTransaction) =>
    sql.all("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
  while ((await database.read(isWaiting)).length === 0);
}

it('purges all other entries if one of them is leased meanwhile', async () => {
  const { database, queue } = await filled('leased_meanwhile', 450)
  let commit = () => {}
  const isLeased = new Promise<void>((resolve) => {
    void database.write(async (sql) => {
      await sql.run(
        `UPDATE ${database.table('dead_letters')} SET status = 'replaying', leased_until = $1 WHERE dlq_id = 'dlq_1'`,
        at(900).getTime(),
      )
      resolve()
      await new Promise<void>((end) => (commit = end))
    })
  })
  await isLeased
  const purged = queue.purge({}, at(50))
  await untilWaiting(database)
  commit()
  expect(await purged).toBe(449)
  expect((await queue.list({}, at(50))).items.map(({ dlqId }) => dlqId)).toEqual(['dlq_1'])
})

it('keeps an entry that another transaction has changed meanwhile, so that it is not selected any more', async () => {
  const { database, queue } = await filled('changed_meanwhile', 3)
  const failed = { status: 'failed', at: at(5), error: letter(1).errorDetails } as const
  for (const id of ['dlq_1', 'dlq_2']) {
    await queue.lease(id, 'me', at(90), at(4))
    await queue.settle(id, 'me', failed)
  }
  let commit = () => {}
  const isRequested = new Promise<void>((resolve) => {
    void database.write(async (sql) => {
      await sql.run(`UPDATE ${database.table('dead_letters')} SET status = 'pending' WHERE dlq_id = 'dlq_1'`)
      resolve()
      await new Promise<void>((end) => (commit = end))
    })
  })
  await isRequested
  const purged = queue.purge({ status: 'failed' }, at(50))
  await untilWaiting(database)
  commit()
  expect(await purged).toBe(1)
  expect((await queue.list({}, at(50))).items.map(({ dlqId }) => dlqId)).toEqual(['dlq_1', 'dlq_3'])
})

it('deletes no more entries than its limit if the reply to its COMMIT was lost', async () => {
  const { database, queue } = await filled('lost_purge', 5)
  const write = database.write.bind(database)
  database.write = (async (work: Work, options: PostgresTransactionOptions<never>) => {
    database.write = write
    const value = await write(work, options as never)
    const isFound = await database.read(async (sql) => options.isCommitted?.(sql, value as never) ?? false)
    return isFound ? value : write(work, options as never)
  }) as typeof write
  expect(await queue.purge({ limit: 2 }, at(50))).toBe(2)
  expect((await queue.list({}, at(50))).items.map(({ dlqId }) => dlqId)).toEqual(['dlq_3', 'dlq_4', 'dlq_5'])
})
