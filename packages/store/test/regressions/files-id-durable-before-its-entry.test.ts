import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

/** A disk that records in which order folders are flushed and files are replaced. While `isFailing` is set, flushes of folders fail. */
class OrderedDisk extends Disk {
  isFailing = false
  readonly done: string[] = []

  override async syncFolder(path: string): Promise<void> {
    if (this.isFailing) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
    await super.syncFolder(path)
    this.done.push(path)
  }

  override async replace(path: string, content: string | Uint8Array): Promise<void> {
    await super.replace(path, content)
    this.done.push(path)
  }
}

async function openStore(dir: string) {
  const disk = new OrderedDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  return { disk, dlq: store.deadLetters }
}

it('flushes an entry that another process has completed before it records the id as processed', async () => {
  const dir = await tempFolder()
  const first = await openStore(dir)
  const second = await openStore(dir)
  await first.dlq.add([letter(1, { operationType: 'mail' })], { maxEntries: 10 })
  expect(await second.dlq.get('dlq_1', at(2))).toMatchObject({ status: 'pending' })
  first.disk.isFailing = true
  await expect(first.dlq.complete('dlq_1', at(3))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  second.disk.done.length = 0
  expect(await second.dlq.isProcessed('dlq_1')).toBe(true)
  const [flushed, recorded] = [join(dir, 'dlq', 'mail'), join(dir, 'dlq', '.processed_ids.json')]
  expect(second.disk.done.filter((path) => path === flushed || path === recorded)).toEqual([
    flushed,
    recorded,
  ])
})
