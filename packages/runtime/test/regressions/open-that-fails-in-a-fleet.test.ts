import type { RedisDriver } from '@holdfast/fleet'
import { fakeClock } from 'holdfast/testing'
import { afterEach, expect, it, vi } from 'vitest'
import { memoryStore } from '../../../store/src/memory/index.js'
import { openRuntime } from '../../src/holdfast/holdfast.js'

// If the handlers of dead letters could not be loaded, the connections to Redis stayed open, with their heartbeat, and the event about
// the loss of Redis was written to the closed store every second. Both kept the process running.

afterEach(() => void vi.restoreAllMocks())

/** A Redis that cannot be reached, and its clients. */
function unreachableRedis(): { driver: RedisDriver; openClients: Set<object> } {
  const openClients = new Set<object>()
  class Client {
    status = 'wait'
    constructor() {
      openClients.add(this)
    }
    connect = () => Promise.reject(new Error('connect ECONNREFUSED'))
    call = () => Promise.reject(new Error('not connected'))
    subscribe = () => Promise.reject(new Error('not connected'))
    on = () => this
    disconnect = () => void openClients.delete(this)
  }
  const load = async () => ({
    Redis: Client,
    Cluster: Client,
    AbstractConnector: { prototype: { options: {} } },
  })
  return { driver: { load, afterPendingReads: (fn) => fn() }, openClients }
}

it('a runtime that cannot be opened leaves its fleet and writes nothing to its closed store', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const { driver, openClients } = unreachableRedis()
  const store = memoryStore()
  const append = vi.spyOn(store.events, 'append')
  const close = vi.spyOn(store, 'close')
  const clock = fakeClock()
  const config = {
    shared: 'redis://127.0.0.1:6379',
    deadLetters: { handlers: '/nowhere/handlers.mjs' },
  }
  const opened = openRuntime(
    { config, clock, env: {} },
    { openStore: async () => store, redisDriver: driver },
  )
  const rejected = expect(opened).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  await clock.advance(2000)
  await rejected
  expect(openClients.size).toBe(0)
  expect(append).toHaveBeenCalledOnce()
  expect(append.mock.invocationCallOrder[0]).toBeLessThan(close.mock.invocationCallOrder[0] as number)
  await clock.advance(60_000)
  expect(append).toHaveBeenCalledOnce()
})
