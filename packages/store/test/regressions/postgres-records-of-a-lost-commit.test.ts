import { afterAll, expect, it } from 'vitest'
import type { PostgresTransactionOptions } from '../../src/postgres/database.js'
import { PostgresJournal } from '../../src/postgres/journal.js'
import { eventJournal } from '../../src/postgres/journal-tables.js'
import type { SqlTransaction } from '../../src/postgres/sql.js'
import { event } from '../contract/records.js'
import { openMigratedDatabase } from '../migrated-database.js'
import { PostgresServer } from '../postgres-server.js'

// An append failed for the process although the server had committed it. The process sent its records again, together with new ones,
// and the connection ended before the second COMMIT. The store found the first record and acknowledged all: the new ones were lost.

const server = (await PostgresServer.start()) as PostgresServer
afterAll(() => server?.remove())

it('does not take a transaction for committed if only its first records are stored', async () => {
  const database = await openMigratedDatabase(server.url, 'lost_commit')
  const events = new PostgresJournal(database, eventJournal)
  await events.append([event(1)])
  let isFoundBefore: boolean | undefined
  let isFoundAfter: boolean | undefined
  const write = database.write.bind(database)
  database.write = (async (
    work: (sql: SqlTransaction) => Promise<unknown>,
    options: PostgresTransactionOptions<unknown>,
  ) => {
    const isFound = () => database.read(async (sql) => options.isCommitted?.(sql, undefined))
    isFoundBefore = await isFound()
    const value = await write(work, options)
    isFoundAfter = await isFound()
    return value
  }) as typeof write
  await events.append([event(1), event(2), event(2)])
  expect(isFoundBefore).toBe(false)
  expect(isFoundAfter).toBe(true)
})
