import type { FileHandle } from 'node:fs/promises'
import { HoldfastError } from 'holdfast'
import { expect, it, onTestFinished } from 'vitest'
import { Disk, type FileLock } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk whose locks another process can take over, and whose next read can fail. */
class UnreliableDisk extends Disk {
  isTakenOver = false
  isReadFailing = false
  onWrite: () => Promise<unknown> = async () => {}

  override createLock(): FileLock {
    const verify = () => {
      if (this.isTakenOver) throw new HoldfastError('STORE_UNAVAILABLE', 'another process has the lock')
    }
    return { runExclusive: (work) => work(), verify, close: async () => {} }
  }

  override async read(path: string): Promise<Buffer | undefined> {
    if (!this.isReadFailing) return super.read(path)
    this.isReadFailing = false
    throw Object.assign(new Error('EMFILE: injected'), { code: 'EMFILE' })
  }

  protected override async write(file: FileHandle, content: string | Uint8Array): Promise<void> {
    await this.onWrite()
    await super.write(file, content)
  }
}

async function openStore(dir: string) {
  const disk = new UnreliableDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  return { disk, dlq: store.deadLetters }
}

it('finds an entry of another process after it could not be read once', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  const other = await openStore(dir)
  await dlq.add([letter(1, { operationType: 'mail' })], NO_LIMIT)
  disk.onWrite = async () => {
    disk.isTakenOver = true
    await other.dlq.add([letter(2, { operationType: 'search' })], NO_LIMIT)
  }
  await expect(dlq.request('dlq_1', at(3))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  disk.isTakenOver = false
  disk.isReadFailing = true
  await expect(dlq.stats(at(4))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await dlq.stats(at(5))).toMatchObject({ total: 2 })
})
