import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

/** A disk that fails to read the days of completed entries once. */
class UnreliableDisk extends Disk {
  isFailing = false

  override async read(path: string) {
    if (!this.isFailing || !path.endsWith('.processed_days.json')) return super.read(path)
    this.isFailing = false
    throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
  }
}

it('keeps the id of an entry that was completed by a call that failed, and purged later', async () => {
  const disk = new UnreliableDisk()
  const store = filesStore(await tempFolder(), { disk })
  await store.open()
  onTestFinished(() => store.close())
  const { deadLetters } = store
  await deadLetters.add([letter(1)], { maxEntries: 10 })
  disk.isFailing = true
  await expect(deadLetters.complete('dlq_1', at(2))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await deadLetters.get('dlq_1', at(3))).toMatchObject({ status: 'completed' })
  await deadLetters.purge({ ids: ['dlq_1'] }, at(4))
  expect(await deadLetters.isProcessed('dlq_1')).toBe(true)
})
