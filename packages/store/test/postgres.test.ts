import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { openPostgres } from '../src/postgres/index.js'
import { describeStore } from './contract.js'
import { makeFolder } from './place.js'
import { LONG_TIMEOUTS, PostgresServer } from './postgres-server.js'

const server = await PostgresServer.start()
let schemas = 0

describe('with PostgreSQL', () => {
  afterAll(() => server.remove())

  describeStore(
    'postgres',
    async () => {
      const { url, admin } = { url: server.url, admin: (text: string) => server.admin(text) }
      const dir = await makeFolder()
      const schema = `contract_${schemas++}`
      return {
        async open() {
          const store = openPostgres(url, { schema, spillDir: join(dir, 'spill'), ...LONG_TIMEOUTS })
          await store.open()
          return store
        },
        async remove() {
          await admin(`DROP SCHEMA ${schema} CASCADE`)
          await rm(dir, { recursive: true })
        },
      }
    },
    { durable: true },
  )
})
