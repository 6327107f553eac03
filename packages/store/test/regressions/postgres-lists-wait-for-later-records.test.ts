import { expect, it } from 'vitest'
import { BatchLoader } from '../../src/postgres/batch-loader.js'

it('lists of a PostgreSQL journal wait only for the records that were appended before them', async () => {
  const written: number[] = []
  // Another record is appended whenever one has been written, as under constant load.
  const loader: BatchLoader<number, void> = new BatchLoader(
    async (records) => {
      await Promise.resolve()
      for (const record of records) {
        written.push(record)
        if (record < 100) void loader.load([record + 10])
      }
      return records.map(() => {})
    },
    { maxItems: 1, maxConcurrent: 2, runLater: (fn) => queueMicrotask(fn) },
  )
  for (const record of [1, 2, 3, 4, 5]) void loader.load([record])
  await loader.whenIdle()
  expect(written).toEqual(expect.arrayContaining([1, 2, 3, 4, 5]))
  expect(written.length).toBeLessThan(10)
})

it('a PostgreSQL journal without records is idle', async () => {
  await new BatchLoader(async () => [], { maxItems: 1, maxConcurrent: 1 }).whenIdle()
})
