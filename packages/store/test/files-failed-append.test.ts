import { expect, it, onTestFinished } from 'vitest'
import { Disk } from '../src/files/disk.js'
import { type FileSystem, systemFileSystem } from '../src/files/file-system.js'
import { filesStore } from '../src/files/index.js'
import { event } from './contract/records.js'
import { tempFolder } from './place.js'

it('stores a batch of records once, if its first flush failed and it was appended again', async () => {
  let isFailing = false
  const fs: FileSystem = {
    ...systemFileSystem,
    open: async (...args) => {
      const file = await systemFileSystem.open(...args)
      const datasync = file.datasync.bind(file)
      file.datasync = () =>
        isFailing ? Promise.reject(Object.assign(new Error('EIO: injected'), { code: 'EIO' })) : datasync()
      return file
    },
  }
  const store = filesStore(await tempFolder(), { disk: new Disk(fs) })
  await store.open()
  onTestFinished(() => store.close())
  await store.events.append([event(1)])
  isFailing = true
  await expect(store.events.append([event(2), event(3)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect((await store.events.list()).items).toEqual([event(1)])
  isFailing = false
  await store.events.append([event(2), event(3)])
  expect((await store.events.list()).items).toEqual([event(3), event(2), event(1)])
  expect(await store.events.count()).toBe(3)
})
