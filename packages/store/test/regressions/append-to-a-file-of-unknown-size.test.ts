// An append that could not read the size of its file was undone by truncating the file to nothing.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Disk } from '../../src/files/disk.js'
import { type FileSystem, systemFileSystem } from '../../src/files/file-system.js'
import { tempFolder } from '../place.js'

it('an append that cannot read the size of its file leaves the file as it was', async () => {
  const fs: FileSystem = {
    ...systemFileSystem,
    open: async (...args) => {
      const file = await systemFileSystem.open(...args)
      file.stat = () => Promise.reject(Object.assign(new Error('EIO: injected'), { code: 'EIO' }))
      return file
    },
  }
  const path = join(await tempFolder(), 'log')
  await writeFile(path, 'old\n')
  await expect(new Disk(fs).append(path, 'new\n')).rejects.toThrow('EIO')
  expect(await readFile(path, 'utf8')).toBe('old\n')
})
