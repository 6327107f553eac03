import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../src/sqlite/index.js'
import { describeStore } from './contract.js'

describeStore(
  'sqlite',
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'))
    return {
      async open() {
        const store = openSqlite(join(dir, 'data', 'holdfast.db'))
        await store.open()
        return store
      },
      remove: () => rm(dir, { recursive: true }),
    }
  },
  { durable: true },
)
