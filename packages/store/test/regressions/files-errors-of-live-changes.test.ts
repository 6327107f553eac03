import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at } from '../contract/records.js'
import { tempFolder } from '../place.js'

/** A disk that records which folders are flushed. While `isFailing` is set, folders cannot be listed. */
class FolderDisk extends Disk {
  isFailing = false
  readonly flushed: string[] = []

  override async fileNames(folder: string): Promise<string[]> {
    if (this.isFailing) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
    return super.fileNames(folder)
  }

  override async syncFolder(path: string): Promise<void> {
    await super.syncFolder(path)
    this.flushed.push(path)
  }
}

async function openStore() {
  const dir = await tempFolder()
  const disk = new FolderDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  return { dir, disk, layers: store.layers }
}

const version = (number: number) => ({ version: number, by: 'ann', at: at(number), layer: { number } })

it('rejects all calls with STORE_UNAVAILABLE if the folder of the live changes cannot be listed', async () => {
  const { disk, layers } = await openStore()
  disk.isFailing = true
  const calls = [
    layers.latest(),
    layers.history(),
    layers.append(version(1), 0),
    layers.expire(1),
    layers.rewrite(1, {}),
  ]
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

it('flushes the folder after it has deleted versions', async () => {
  const { dir, disk, layers } = await openStore()
  await layers.append(version(1), 0)
  await layers.append(version(2), 1)
  disk.flushed.length = 0
  expect(await layers.expire(1)).toBe(1)
  expect(disk.flushed).toEqual([join(dir, 'layers')])
})
