// A purge of 100,000 entries of a memory store took 560 ms in one turn of the event loop, and that of a files store held its lock.
import { describe, expect, it, onTestFinished } from 'vitest'
import { filesStore } from '../../src/files/index.js'
import { memoryStore } from '../../src/memory/index.js'
import type { Store } from '../../src/store.js'
import { at, letter } from '../contract/records.js'
import { tempFolder } from '../place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }
const ENTRIES = 1100

const addLetters = (store: Store, count = ENTRIES) =>
  store.deadLetters.add(
    Array.from({ length: count }, (_, n) => letter(n)),
    NO_LIMIT,
  )

const idsOf = async (store: Store) =>
  (await store.deadLetters.list({ limit: 1000 }, at(1))).items.map(({ dlqId }) => dlqId)

describe('a purge of a memory store', () => {
  /** Runs a function in the turns of a purge, and returns the numbers of entries at their starts. */
  async function purgeWithTurns(
    filter: Parameters<Store['deadLetters']['purge']>[0],
    onTurn: (store: Store) => Promise<unknown> = async () => {},
    count = ENTRIES,
  ) {
    const left: number[] = []
    const store = memoryStore({
      async nextTurn() {
        left.push((await store.deadLetters.stats(at(1))).total)
        await onTurn(store)
      },
    })
    await addLetters(store, count)
    const purged = await store.deadLetters.purge(filter, at(1))
    return { purged, left, store }
  }

  it('gives the event loop a turn after 500 entries', async () => {
    const { purged, left } = await purgeWithTurns({})
    expect(left).toEqual([600, 100])
    expect(purged).toBe(ENTRIES)
  })

  it('gives the event loop turns while it visits leased entries', async () => {
    let turns = 0
    const store = memoryStore({ nextTurn: async () => void turns++ })
    await addLetters(store)
    await store.deadLetters.leaseNext({ statuses: ['pending'], limit: ENTRIES }, 'me', at(100), at(1))
    expect(await store.deadLetters.purge({}, at(2))).toBe(0)
    expect(turns).toBe(2)
  })

  it('gives the event loop no turn for few entries', async () => {
    const { purged, left } = await purgeWithTurns({}, undefined, 500)
    expect(left).toEqual([])
    expect(purged).toBe(500)
  })

  it('deletes in the order of the filter up to its limit', async () => {
    const { purged, left, store } = await purgeWithTurns({ order: 'newest', limit: 1099 })
    expect(left).toEqual([600, 100])
    expect(purged).toBe(1099)
    expect(await idsOf(store)).toEqual(['dlq_0'])
  })

  it('keeps entries that are leased, completed or added meanwhile', async () => {
    const { purged, store } = await purgeWithTurns({ status: 'pending' }, async ({ deadLetters }) => {
      await deadLetters.lease('dlq_1098', 'me', at(100), at(2))
      await deadLetters.complete('dlq_1099', at(2))
      await deadLetters.add([letter(2000)], NO_LIMIT)
    })
    expect(purged).toBe(1098)
    expect(await idsOf(store)).toEqual(['dlq_1098', 'dlq_1099', 'dlq_2000'])
  })

  it('uses turns of the event loop by default', async () => {
    const store = memoryStore()
    await addLetters(store)
    let turns = 0
    let next = setImmediate(function count() {
      turns++
      next = setImmediate(count)
    })
    onTestFinished(() => clearImmediate(next))
    expect(await store.deadLetters.purge({}, at(1))).toBe(ENTRIES)
    expect(turns).toBeGreaterThanOrEqual(2)
  })
})

describe('a purge of a files store', () => {
  async function openStore() {
    const store = filesStore(await tempFolder())
    await store.open()
    await addLetters(store)
    return store
  }

  it('runs other calls between transactions, and keeps entries that they lease or add', async () => {
    const store = await openStore()
    onTestFinished(() => store.close())
    const purge = store.deadLetters.purge({}, at(1))
    const lease = store.deadLetters.lease('dlq_1000', 'me', at(100), at(2))
    const add = store.deadLetters.add([letter(2000)], NO_LIMIT)
    expect(await lease).toMatchObject({ result: 'leased' })
    await add
    expect(await purge).toBe(ENTRIES - 1)
    expect(await idsOf(store)).toEqual(['dlq_1000', 'dlq_2000'])
  })

  it('ends before the store is closed', async () => {
    const store = await openStore()
    const purge = store.deadLetters.purge({}, at(1))
    await store.close()
    expect(await purge).toBe(ENTRIES)
  })
})
