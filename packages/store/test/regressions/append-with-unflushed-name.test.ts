// An append whose folder could not be flushed was reported as failed, but its lines stayed in the file, so that the next attempt
// stored them twice.
import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { type FileSystem, systemFileSystem } from '../../src/files/file-system.js'
import { filesStore } from '../../src/files/index.js'
import { event } from '../contract/records.js'
import { tempFolder } from '../place.js'

it('stores records once, if the flush of the folder of a new file failed and they were appended again', async () => {
  let isFailing = false
  const fs: FileSystem = {
    ...systemFileSystem,
    open: async (path, flags, mode) => {
      const file = await systemFileSystem.open(path, flags, mode)
      const sync = file.sync.bind(file)
      file.sync = () =>
        isFailing && flags === 'r'
          ? Promise.reject(Object.assign(new Error('EIO: injected'), { code: 'EIO' }))
          : sync()
      return file
    },
  }
  const store = filesStore(await tempFolder(), { disk: new Disk(fs) })
  await store.open()
  onTestFinished(() => store.close())
  isFailing = true
  await expect(store.events.append([event(1), event(2)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((await store.events.list()).items).toEqual([])
  isFailing = false
  await store.events.append([event(1), event(2)])
  expect((await store.events.list()).items).toEqual([event(2), event(1)])
})
