import { afterAll, expect, it, onTestFinished } from 'vitest'
import { openPostgres } from '../../src/postgres/index.js'
import { LONG_TIMEOUTS } from '../long-timeouts.js'
import { tempFolder } from '../place.js'
import { PostgresServer } from '../postgres-server.js'

// A store in PostgreSQL that was closed and opened again did not notify of replay requests any more: workers found them at the next poll.

const server = (await PostgresServer.start()) as PostgresServer
afterAll(() => server?.remove())

it('a store that was closed and opened again notifies of replay requests', async () => {
  const store = openPostgres(server.url, { spillDir: await tempFolder(), ...LONG_TIMEOUTS })
  await store.open()
  await store.close()
  await store.open()
  onTestFinished(() => store.close())
  let calls = 0
  store.deadLetters.onRequest(() => calls++)
  // A listener is called once when the store starts to listen.
  await expect.poll(() => calls).toBe(1)
})
