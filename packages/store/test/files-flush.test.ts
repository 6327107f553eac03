import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../src/files/disk.js'
import { filesStore } from '../src/files/index.js'
import { at, letter } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk that records which folders are flushed. While `isFailing` is set, flushes of folders fail. */
class FlushDisk extends Disk {
  isFailing = false
  readonly flushed = new Set<string>()

  override async syncFolder(path: string): Promise<void> {
    if (this.isFailing) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' })
    await super.syncFolder(path)
    this.flushed.add(path)
  }
}

async function openStore(dir: string) {
  const disk = new FlushDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  disk.flushed.clear()
  return { disk, dlq: store.deadLetters }
}

const entry = letter(1, { operationType: 'mail' })

it('flushes the name of an entry before it acknowledges it, if the first flush failed', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  await dlq.add([letter(2, { operationType: 'mail' })], NO_LIMIT)
  disk.isFailing = true
  await expect(dlq.add([entry], NO_LIMIT)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(dlq.add([entry], NO_LIMIT)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  disk.isFailing = false
  disk.flushed.clear()
  expect(await dlq.add([entry], NO_LIMIT)).toMatchObject([{ result: 'known' }])
  expect(disk.flushed).toContain(join(dir, 'dlq', 'mail'))
})

it('flushes a completed entry before it acknowledges the second completion, if the first one failed', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  await dlq.add([entry], NO_LIMIT)
  disk.isFailing = true
  await expect(dlq.complete('dlq_1', at(5))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  disk.isFailing = false
  disk.flushed.clear()
  expect(await dlq.complete('dlq_1', at(6))).toMatchObject({ status: 'completed' })
  expect(disk.flushed).toContain(join(dir, 'dlq', 'mail'))
})

it('flushes the names of entries and folders of a process that died before it could', async () => {
  const dir = await tempFolder()
  const first = await openStore(dir)
  await first.dlq.add([letter(2, { operationType: 'mail' })], NO_LIMIT)
  first.disk.isFailing = true
  await expect(first.dlq.add([entry], NO_LIMIT)).rejects.toThrow()
  const second = await openStore(dir)
  expect(await second.dlq.add([entry], NO_LIMIT)).toMatchObject([{ result: 'known' }])
  expect(second.disk.flushed).toContain(join(dir, 'dlq', 'mail'))
  expect(second.disk.flushed).toContain(join(dir, 'dlq'))
})

it('flushes the name of a new folder, if the first flush failed', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  disk.isFailing = true
  await expect(dlq.add([entry], NO_LIMIT)).rejects.toThrow()
  disk.isFailing = false
  disk.flushed.clear()
  expect(await dlq.add([entry], NO_LIMIT)).toMatchObject([{ result: 'added' }])
  expect(disk.flushed).toContain(join(dir, 'dlq'))
  expect(disk.flushed).toContain(join(dir, 'dlq', 'mail'))
})

it('reads entries while folders cannot be flushed', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  await dlq.add([entry], NO_LIMIT)
  disk.isFailing = true
  expect((await dlq.list(undefined, at(1))).items).toHaveLength(1)
  expect(await dlq.get('dlq_1', at(1))).toMatchObject({ dlqId: 'dlq_1' })
})
