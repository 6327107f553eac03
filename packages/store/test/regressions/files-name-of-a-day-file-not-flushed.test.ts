import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { audit } from '../contract/records.js'
import { tempFolder } from '../place.js'

/** A disk that records which folders are flushed. While `isFailing` is set, flushes of folders fail. */
class FlushDisk extends Disk {
  isFailing = false
  readonly flushed: string[] = []

  override async syncFolder(path: string): Promise<void> {
    if (this.isFailing) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
    await super.syncFolder(path)
    this.flushed.push(path)
  }
}

async function openStore(dir: string) {
  const disk = new FlushDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  disk.flushed.length = 0
  return { disk, store }
}

it('flushes the name of a day file before it acknowledges a record, if the first flush failed', async () => {
  const dir = await tempFolder()
  const { disk, store } = await openStore(dir)
  disk.isFailing = true
  await expect(store.audit.append([audit(1)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  disk.isFailing = false
  await store.audit.append([audit(1)])
  expect(disk.flushed).toEqual([join(dir, 'audit')])
  await store.audit.append([audit(2)])
  expect(disk.flushed).toHaveLength(1)
})

it('flushes the name of a day file of a process that died before it could', async () => {
  const dir = await tempFolder()
  const first = await openStore(dir)
  first.disk.isFailing = true
  await expect(first.store.audit.append([audit(1)])).rejects.toThrow()
  const second = await openStore(dir)
  await second.store.audit.append([audit(2)])
  expect(second.disk.flushed).toEqual([join(dir, 'audit')])
})
