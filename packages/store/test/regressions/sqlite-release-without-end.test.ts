import { expect, it } from 'vitest'
import { releaseFreePages } from '../../src/sqlite/vacuum.js'
import type { WriteQueue } from '../../src/sqlite/write-queue.js'

/** A file with free pages. */
function fakeFile(freePages: number) {
  const file = { freePages, checkpoints: 0 }
  const sql = {
    get: (pragma: string) => ({ value: pragma.includes('freelist') ? file.freePages : 2 }),
    exec(pragma: string) {
      file.freePages -= Number(/\d+/.exec(pragma)?.[0])
    },
  }
  const run = async <T>(work: () => T): Promise<T> => work()
  const checkpoint = async () => void file.checkpoints++
  return { file, writes: { sql, read: run, writeUnflushed: run, checkpoint } as unknown as WriteQueue }
}

it('releases 128 MiB of a SQLite file per call, so that a large file does not delay the end of the process', async () => {
  const { file, writes } = fakeFile(100_000)
  await releaseFreePages(writes)
  expect(file).toEqual({ freePages: 100_000 - 32_768, checkpoints: 1 })
  for (let call = 0; call < 3; call++) await releaseFreePages(writes)
  expect(file).toEqual({ freePages: 1024, checkpoints: 4 })
  await releaseFreePages(writes)
  expect(file.checkpoints).toBe(4)
})
