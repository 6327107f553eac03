import { rm } from 'node:fs/promises'
import { filesStore } from '../src/files/index.js'
import { describeStore } from './contract.js'
import { makeFolder } from './place.js'

describeStore(
  'files',
  async () => {
    const dir = await makeFolder()
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
