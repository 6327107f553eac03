import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { filesStore } from '../../src/store/files/index.js'
import { describeStore } from './contract.js'

/** Memory that is a folder, where there is one: a disk makes this suite wait for a minute. */
const root = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

describeStore(
  'files',
  async () => {
    const dir = await mkdtemp(join(root, 'holdfast-files-'))
    return {
      async open() {
        const store = filesStore(dir)
        await store.open()
        return store
      },
      remove: () => rm(dir, { recursive: true }),
    }
  },
  { durable: true },
)
