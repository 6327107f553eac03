import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '@holdfast/records'
import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

/** A disk that fails to open the ids of completed entries once. */
class UnreliableDisk extends Disk {
  isFailing = false

  override async open(path: string) {
    if (!this.isFailing || !path.endsWith('.processed_ids.json')) return super.open(path)
    this.isFailing = false
    throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
  }
}

async function openStore(dir: string) {
  const disk = new UnreliableDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  return { disk, dlq: store.deadLetters }
}

it('keeps the ids of completed entries after it could not read those that another process has left', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  const other = await openStore(dir)
  await dlq.add([letter(1), letter(2), letter(3)], { maxEntries: 10 })
  await dlq.complete('dlq_1', at(4))
  await dlq.complete('dlq_2', at(4))
  await dlq.purge({ ids: ['dlq_1'] }, at(5))
  expect(await other.dlq.deleteProcessedIds(new Date(at(5).getTime() + 2 * DAY_MS))).toBe(1)
  disk.isFailing = true
  await expect(dlq.isProcessed('dlq_2')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await dlq.isProcessed('dlq_1')).toBe(false)
  await dlq.complete('dlq_3', at(6))
  const stored = await readFile(join(dir, 'dlq', '.processed_ids.json'), 'utf8')
  expect(JSON.parse(stored)).toEqual(['dlq_2', 'dlq_3'])
})
