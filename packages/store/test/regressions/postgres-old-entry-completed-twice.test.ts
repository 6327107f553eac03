import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../src/postgres/address.js'
import { DiskFallback } from '../../src/postgres/disk-fallback.js'
import { openPostgres } from '../../src/postgres/index.js'
import { letter } from '../contract/records.js'
import { makeFolder } from '../place.js'
import { LONG_TIMEOUTS, PostgresServer } from '../postgres-server.js'

const NO_LIMIT = { maxEntries: 1000 }
const day = (n: number) => new Date(Date.UTC(2020, 0, n))
const entryOf = (n: number) => letter(n, { createdAt: day(n), lastAttempt: day(n) })

const server = await PostgresServer.start()
afterAll(() => server.remove())

it('does not move an old entry that was completed before its processed id was deleted', async () => {
  const spillDir = await makeFolder()
  const schema = 'old_entries'
  const warnings: string[] = []
  const store = openPostgres(server.url, {
    schema,
    spillDir,
    warn: (line) => warnings.push(line),
    ...LONG_TIMEOUTS,
  })
  await store.open()
  const { deadLetters } = store
  await deadLetters.add([entryOf(1), entryOf(5)], NO_LIMIT)
  for (const n of [1, 5]) await deadLetters.complete(`dlq_${n}`, day(n))
  await deadLetters.purge({}, day(20))
  expect(await deadLetters.deleteProcessedIds(day(6))).toBe(2)
  expect(await deadLetters.deleteProcessedIds(day(6))).toBe(0)
  expect(await deadLetters.isProcessed('dlq_1')).toBe(false)
  await store.close()

  // A machine that was down has the entry too, because it did not get the response of the database.
  const address = parseAddress(server.url, schema)
  const down = () => Promise.reject(new Error('down'))
  const left = new DiskFallback({
    dir: join(spillDir, address.folder),
    databaseName: address.description,
    target: { add: down, processed: down, lastDeletedCompletion: down, alias: down },
    warn: () => {},
  })
  await left.add([entryOf(1), entryOf(9)], NO_LIMIT)
  await left.close()

  await store.open()
  onTestFinished(async () => {
    await store.close()
    await rm(spillDir, { recursive: true })
  })
  await expect
    .poll(async () => (await deadLetters.list({}, day(20))).items.map(({ dlqId }) => dlqId))
    .toEqual(['dlq_9'])
  expect(await deadLetters.get('dlq_1', day(20))).toBeUndefined()
  expect(warnings.join()).toContain('older than dead_letters.max_age: dlq_1')
})
