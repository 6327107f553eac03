import { rm } from 'node:fs/promises'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../src/postgres/address.js'
import { DeadLetterAliases } from '../../src/postgres/aliases.js'
import { PostgresDatabase } from '../../src/postgres/database.js'
import { openPostgres } from '../../src/postgres/index.js'
import { letter } from '../contract/records.js'
import { makeFolder } from '../place.js'
import { LONG_TIMEOUTS, PostgresServer } from '../postgres-server.js'

const day = (n: number) => new Date(Date.UTC(2020, 0, n))

const server = await PostgresServer.start()
afterAll(() => server.remove())

it('deletes an alias with the processed id of its entry, and not before', async () => {
  const spillDir = await makeFolder()
  const store = openPostgres(server.url, { schema: 'aliases', spillDir, ...LONG_TIMEOUTS })
  const database = new PostgresDatabase(parseAddress(server.url, 'aliases'), {
    connections: 1,
    ...LONG_TIMEOUTS,
    clock: undefined,
    random: undefined,
    warn: () => {},
  })
  await store.open()
  await database.open()
  onTestFinished(async () => {
    await database.close()
    await store.close()
    await rm(spillDir, { recursive: true })
  })
  const aliases = new DeadLetterAliases(database)
  const ids = ['stored', 'processed', 'deleted', 'quote "\\ and \ud800']
  const find = async () => [...(await aliases.find(ids)).keys()].toSorted()
  const { deadLetters } = store
  const entries = [1, 2, 3, 4].map((n) => letter(n, { createdAt: day(n), lastAttempt: day(n) }))
  await deadLetters.add(entries, { maxEntries: 1000 })
  await aliases.save(new Map(ids.map((id, at) => [id, `dlq_${at + 1}`])))
  for (const n of [2, 3]) await deadLetters.complete(`dlq_${n}`, day(n === 2 ? 9 : 3))
  await deadLetters.purge({ ids: ['dlq_2', 'dlq_3', 'dlq_4'] }, day(20))

  expect(await deadLetters.deleteProcessedIds(day(5))).toBe(1)
  expect(await find()).toEqual(['processed', 'stored'])
  expect(await deadLetters.isProcessed('processed')).toBe(true)

  expect(await deadLetters.deleteProcessedIds(day(12))).toBe(1)
  expect(await find()).toEqual(['stored'])
  expect(await deadLetters.get('stored', day(20))).toMatchObject({ dlqId: 'dlq_1' })
})
