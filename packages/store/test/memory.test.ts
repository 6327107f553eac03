import { describe, expect, it } from 'vitest'
import { memoryStore } from '../src/memory/index.js'
import { event, session } from './contract/records.js'
import { describeStore } from './contract.js'

describeStore('memory', async () => ({ open: async () => memoryStore(), remove: async () => {} }), {
  durable: false,
})

describe('a memory store', () => {
  it('keeps the newest records of each journal', async () => {
    const store = memoryStore({ maxEntries: 3 })
    for (let n = 0; n < 5000; n++) await store.events.append([event(n)])
    expect(await store.events.count()).toBe(3)
    expect((await store.events.list()).items).toEqual([event(4999), event(4998), event(4997)])
    await store.sessions.append(Array.from({ length: 10 }, (_, n) => session(n)))
    expect(await store.sessions.get(session(6).sessionId)).toBeUndefined()
    expect(await store.sessions.get(session(7).sessionId)).toBeDefined()
  })

  it('returns copies of records to each reader', async () => {
    const store = memoryStore()
    await store.events.append([event(1)])
    const [read] = (await store.events.list()).items
    read?.timestamp.setTime(0)
    Object.assign(read as object, { operation: 'another' })
    expect((await store.events.list()).items).toEqual([event(1)])
  })
})
