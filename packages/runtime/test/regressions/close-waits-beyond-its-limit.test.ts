import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../../../store/src/postgres/index.js'
import type { Store } from '../../../store/src/store.js'
import { event } from '../../../store/test/contract/records.js'
import { tempFolder } from '../../../store/test/place.js'
import { LONG_TIMEOUTS, PostgresServer } from '../../../store/test/postgres-server.js'
import { Holdfast } from '../../src/index.js'

// The limit of 3 seconds began with the end of the store itself. What was written before that, and the configuration that was
// just being read, each waited for a server that did not answer for as long as a statement may take.

describe('closing a runtime', () => {
  it('starts the time limit of the store before it waits for the store', async () => {
    const hf = await Holdfast.open({ config: { policies: { p: { maxAttempts: 1 } } } })
    const order: string[] = []
    let fail: (error: Error) => void = () => {}
    const silent = new Promise<never>((_, reject) => {
      fail = reject
    })
    silent.catch(() => {})
    const store: Store = hf.store
    // A store that answers nothing until its limit has passed.
    Object.assign(store, {
      startClosing() {
        order.push('limit')
        fail(new Error('it did not answer'))
      },
    })
    for (const part of [store.events, store.sessions, store.errors, store.metrics, store.layers])
      for (const name of ['append', 'save', 'latest', 'history'] as const)
        if (name in part)
          Object.assign(part, {
            [name]: () => {
              order.push(name)
              return silent
            },
          })
    const reload = hf.config.reload().catch((error: unknown) => error)
    await hf.run('p', () => Promise.reject(new Error('down'))).catch(() => {})
    await hf.close()
    await reload
    expect(order).toContain('limit')
  })
})

const server = (await PostgresServer.start()) as PostgresServer

describe.skipIf(server === undefined)('a PostgreSQL store with startClosing', () => {
  afterAll(() => server.remove())

  it('ends statements that wait for a stopped server before close is called', async () => {
    const store = openPostgres(server.url, {
      schema: 'closing',
      spillDir: join(await tempFolder(), 'spill'),
      ...LONG_TIMEOUTS,
      closeTimeout: 200,
      warn: () => {},
    })
    await store.open()
    await store.events.append([event(1)])
    await server.signal('SIGSTOP')
    try {
      const waiting = store.events.append([event(2)])
      store.startClosing?.()
      await expect(waiting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await store.close()
    } finally {
      await server.signal('SIGCONT')
    }
    // It can be opened again, with a limit of its own.
    await store.open()
    await store.events.append([event(3)])
    expect(await store.events.count()).toBeGreaterThan(1)
    await store.close()
  })
})
