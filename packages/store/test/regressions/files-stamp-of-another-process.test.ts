import { HoldfastError } from 'holdfast'
import { expect, it, onTestFinished } from 'vitest'
import { Disk, type FileLock, type FileStamp } from '../../src/files/disk.js'
import { filesStore } from '../../src/files/index.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

/** A disk whose locks another process can take over, just before the stamp of a file is read. */
class TakenOverDisk extends Disk {
  isTakenOver = false
  takenOverAt: string | undefined
  onTakenOver: () => Promise<unknown> = async () => {}

  override createLock(): FileLock {
    const verify = () => {
      if (this.isTakenOver) throw new HoldfastError('STORE_UNAVAILABLE', 'another process has the lock')
    }
    return {
      async runExclusive(work) {
        const result = await work()
        verify()
        return result
      },
      verify,
      close: async () => {},
    }
  }

  override async stamp(path: string): Promise<FileStamp | undefined> {
    if (this.takenOverAt !== undefined && path.endsWith(this.takenOverAt)) {
      this.takenOverAt = undefined
      this.isTakenOver = true
      await this.onTakenOver()
    }
    return super.stamp(path)
  }
}

async function openStore(dir: string) {
  const disk = new TakenOverDisk()
  const store = filesStore(dir, { disk })
  await store.open()
  onTestFinished(() => store.close())
  return { disk, dlq: store.deadLetters }
}

it('reads an entry again that another process has replaced before its stamp was read', async () => {
  const dir = await tempFolder()
  const { disk, dlq } = await openStore(dir)
  const other = await openStore(dir)
  await dlq.add([letter(1)], NO_LIMIT)
  disk.takenOverAt = 'dlq_1.json'
  disk.onTakenOver = () => other.dlq.complete('dlq_1', at(2))
  await expect(dlq.request('dlq_1', at(3))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  disk.isTakenOver = false
  expect(await dlq.count({}, at(4))).toMatchObject({ pending: 0, completed: 1 })
})
