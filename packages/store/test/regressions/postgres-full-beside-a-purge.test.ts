import { afterAll, describe, expect, it } from 'vitest'
import type { PostgresTransactionOptions } from '../../src/postgres/database.js'
import { PostgresDeadLetters } from '../../src/postgres/dead-letters.js'
import type { SqlTransaction } from '../../src/postgres/sql.js'
import { at, letter } from '../contract/records.js'
import { openMigratedDatabase } from '../migrated-database.js'
import { PostgresServer } from '../postgres-server.js'

const server = (await PostgresServer.start()) as PostgresServer
afterAll(() => server?.remove())

type Work = (sql: SqlTransaction) => Promise<never>

const KEY = { idempotencyKey: 'the same' }

/** Called with each statement of a transaction that adds entries, and its rows. Returns the rows that the store sees. */
type OnRows = (text: string, rows: unknown[]) => Promise<unknown[]>

const isInsert = (text: string) => text.includes('ON CONFLICT DO NOTHING')
const isSelectExisting = (text: string) => text.includes('AS hex')

/** Two queues in one database. */
async function openQueues(schema: string) {
  const database = await openMigratedDatabase(server.url, schema)
  const hooks: { onRows: OnRows } = { onRows: async (_, rows) => rows }
  const queue = new PostgresDeadLetters(database)
  const write = database.write.bind(database)
  database.write = ((work: Work, options: PostgresTransactionOptions<never>) =>
    write(
      (sql) =>
        work(
          new Proxy(sql, {
            get: (target, name) => {
              const value = Reflect.get(target, name) as unknown
              if (name !== 'all') return typeof value === 'function' ? value.bind(target) : value
              return async (text: string, ...values: never[]) =>
                hooks.onRows(text, await target.all(text, ...values))
            },
          }),
        ),
      options,
    )) as typeof write
  const other = new PostgresDeadLetters(await openMigratedDatabase(server.url, schema))
  return { queue, other, hooks }
}

describe('a dead letter whose idempotency key another process purges during the add', () => {
  it('is added to a PostgreSQL queue that is not full', async () => {
    const { queue, other, hooks } = await openQueues('purged_meanwhile')
    await other.add([letter(1, KEY)], { maxEntries: 100_000 })
    hooks.onRows = async (text, rows) => {
      if (isInsert(text)) await other.purge({ ids: ['dlq_1'] }, at(5))
      return rows
    }
    const results = await queue.add([letter(2, KEY), letter(3)], { maxEntries: 100_000 })
    expect(results.map(({ result }) => result)).toEqual(['added', 'added'])
    expect((await other.list({}, at(9))).items.map(({ dlqId }) => dlqId).toSorted()).toEqual([
      'dlq_2',
      'dlq_3',
    ])
    expect((await other.stats(at(9))).total).toBe(2)
  })

  it('is added to a PostgreSQL queue that was full before the purge', async () => {
    const { queue, other, hooks } = await openQueues('full_before')
    await other.add([letter(1, KEY)], { maxEntries: 1 })
    hooks.onRows = async (text, rows) => {
      if (isSelectExisting(text)) await other.purge({ ids: ['dlq_1'] }, at(5))
      return rows
    }
    const results = await queue.add([letter(2, KEY), letter(3)], { maxEntries: 1 })
    expect(results.map(({ result }) => result)).toEqual(['added', 'full'])
  })

  it('is rejected after some repetitions if that happens again and again', async () => {
    const { queue, hooks } = await openQueues('purged_again')
    hooks.onRows = async (text, rows) => (isInsert(text) || isSelectExisting(text) ? [] : rows)
    const add = queue.add([letter(2)], { maxEntries: 1000 })
    await expect(add).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })
})
