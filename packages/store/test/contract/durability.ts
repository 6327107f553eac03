import { describe, expect, it } from 'vitest'
import type { Bench } from '../contract.js'
import { at, audit, breakerEvent, errorRecord, event, letter, session, storedBreaker } from './records.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

export function describeDurability(bench: Bench): void {
  describe('closing and opening again', () => {
    it('keeps all records', async () => {
      const { store } = bench
      const row = { series: 'minute:total', start: 60_000, node: 'n1', data: { calls: 1 } }
      const version = { version: 1, by: 'ann', at: at(1), layer: { policies: {} } }
      await store.sessions.append([session(1), session(2)])
      await store.events.append([event(1)])
      await store.errors.append([errorRecord(1), errorRecord(2, { severity: 'WARNING' })])
      await store.audit.append([audit(1)])
      await store.breakerEvents.append([breakerEvent(1)])
      await store.breakers.save([storedBreaker('service:x')])
      await store.metrics.save([row])
      await store.layers.append(version, 0)
      await store.values.set('k', { v: 1 })
      await store.deadLetters.add([letter(1), letter(2), letter(3)], NO_LIMIT)
      await store.deadLetters.complete('dlq_1', at(5))
      await store.deadLetters.lease('dlq_2', 'me', at(20), at(5))
      await store.deadLetters.request('dlq_3', at(6))
      const list = () => store.deadLetters.list(undefined, at(7))
      const before = await list()
      await store.close()

      const again = await bench.another()
      expect((await again.sessions.list()).items).toEqual([session(2), session(1)])
      expect(await again.sessions.get(session(1).sessionId)).toEqual(session(1))
      expect((await again.events.list()).items).toEqual([event(1)])
      expect((await again.errors.list()).items).toEqual([
        errorRecord(2, { severity: 'WARNING' }),
        errorRecord(1),
      ])
      expect((await again.audit.list()).items).toEqual([audit(1)])
      expect((await again.breakerEvents.list()).items).toEqual([breakerEvent(1)])
      expect(await again.breakers.load()).toEqual([storedBreaker('service:x')])
      expect(await again.metrics.load({ from: 0, to: 100_000 })).toEqual([row])
      expect(await again.layers.latest()).toEqual(version)
      expect(await again.values.get('k')).toEqual({ v: 1 })
      expect(await again.deadLetters.list(undefined, at(7))).toEqual(before)
      expect(await again.deadLetters.isProcessed('dlq_1')).toBe(true)
      expect(await again.deadLetters.lease('dlq_2', 'you', at(30), at(7))).toEqual({
        result: 'held',
        until: at(20),
      })
      expect(await again.deadLetters.renew('dlq_2', 'me', at(30), at(8))).toBe(true)
      expect(await again.deadLetters.add([letter(9, { idempotencyKey: 'key3' })], NO_LIMIT)).toMatchObject([
        { result: 'conflict', entry: { dlqId: 'dlq_3' } },
      ])
    })

    it('keeps deleted records deleted, and cursors valid', async () => {
      const { store } = bench
      await store.events.append(Array.from({ length: 10 }, (_, n) => event(n)))
      await store.events.expire({ before: at(3) })
      await store.events.expire({ maxEntries: 5 })
      const page = await store.events.list({ limit: 2 })
      await store.close()
      const again = await bench.another()
      expect(await again.events.count()).toBe(5)
      expect((await again.events.list({ cursor: page.cursor })).items).toEqual([event(7), event(6), event(5)])
      expect(await again.events.expire({ before: at(6) })).toBe(1)
    })

    it('can be closed several times, and rejects work afterwards', async () => {
      const { store } = bench
      await Promise.all([store.close(), store.close()])
      await store.close()
      await expect(store.values.set('k', 1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect(store.deadLetters.add([letter(1)], NO_LIMIT)).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
      })
    })

    it('keeps the writes that were pending when it was closed', async () => {
      const { store } = bench
      const work = [
        store.deadLetters.add([letter(1)], NO_LIMIT),
        store.events.append([event(1)]),
        store.values.set('k', 1),
      ]
      await store.close()
      await Promise.all(work)
      const again = await bench.another()
      expect(await again.deadLetters.get('dlq_1', at(2))).toBeDefined()
      expect(await again.events.count()).toBe(1)
      expect(await again.values.get('k')).toBe(1)
    })
  })

  describe('two stores on the same data', () => {
    it('read the changes of the other', async () => {
      const [one, two] = [bench.store, await bench.another()]
      await one.deadLetters.add([letter(1)], NO_LIMIT)
      expect(await two.deadLetters.get('dlq_1', at(2))).toBeDefined()
      await two.deadLetters.add([letter(2, { operationType: 'new_operation' })], NO_LIMIT)
      expect((await one.deadLetters.stats(at(3))).total).toBe(2)
      await two.deadLetters.complete('dlq_1', at(4))
      expect(await one.deadLetters.isProcessed('dlq_1')).toBe(true)
      expect((await one.deadLetters.list({ status: 'completed' }, at(5))).items).toHaveLength(1)
      await one.deadLetters.purge({}, at(6))
      expect((await two.deadLetters.list(undefined, at(7))).items).toEqual([])
      await one.events.append([event(1)])
      await two.events.append([event(2)])
      expect((await one.events.list()).items).toEqual([event(2), event(1)])
      await two.events.expire({ before: at(2) })
      expect(await one.events.count()).toBe(1)
      await one.values.set('k', 1)
      expect(await two.values.get('k')).toBe(1)
      await one.breakers.save([storedBreaker('a')])
      await two.breakers.save([storedBreaker('b')])
      expect(await one.breakers.load()).toHaveLength(2)
      const row = { series: 'minute:total', start: 60_000, node: 'n1', data: 1 }
      await one.metrics.save([row])
      expect(await two.metrics.load({ from: 0, to: 100_000 })).toEqual([row])
      expect(await two.layers.append({ version: 1, by: 'a', at: at(1), layer: 1 }, 0)).toBe(true)
      expect(await one.layers.append({ version: 1, by: 'b', at: at(1), layer: 2 }, 0)).toBe(false)
    })

    it('grant one lease, one completion and one entry per key', async () => {
      const stores = [bench.store, await bench.another(), await bench.another()]
      const all = <T>(ask: (store: Bench['store'], n: number) => Promise<T>) =>
        Promise.all(Array.from({ length: 12 }, (_, n) => ask(stores[n % 3] as Bench['store'], n)))
      const added = await all((store, n) =>
        store.deadLetters.add([letter(n, { idempotencyKey: 'same', originalPayload: 1 })], NO_LIMIT),
      )
      expect(added.flat().filter(({ result }) => result === 'added')).toHaveLength(1)
      const id = added
        .flat()
        .flatMap((each) => (each.result === 'added' ? each.entry.dlqId : []))[0] as string
      const leases = await all((store, n) => store.deadLetters.lease(id, `w${n}`, at(90), at(50)))
      expect(leases.filter(({ result }) => result === 'leased')).toHaveLength(1)
      const settled = await all((store, n) =>
        store.deadLetters.settle(id, `w${n}`, { status: 'completed', at: at(60) }),
      )
      expect(settled.filter((entry) => entry !== undefined)).toHaveLength(1)
    })

    it('share the limit of entries and the work', async () => {
      const stores = [bench.store, await bench.another()]
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, n) =>
          (stores[n % 2] as Bench['store']).deadLetters.add([letter(n)], { maxEntries: 20 }),
        ),
      )
      expect(results.flat().filter(({ result }) => result === 'added')).toHaveLength(20)
      const taken = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (stores[n % 2] as Bench['store']).deadLetters.leaseNext(
            { statuses: ['pending'], limit: 3 },
            `w${n}`,
            at(90),
            at(50),
          ),
        ),
      )
      expect(new Set(taken.flat().map(({ dlqId }) => dlqId)).size).toBe(20)
      expect(taken.flat()).toHaveLength(20)
    })

    it('append to one journal without losing a record', async () => {
      const stores = [bench.store, await bench.another()]
      await Promise.all(
        Array.from({ length: 40 }, (_, n) => (stores[n % 2] as Bench['store']).sessions.append([session(n)])),
      )
      expect(await bench.store.sessions.count()).toBe(40)
      const { items } = await (stores[1] as Bench['store']).sessions.list({ limit: 100 })
      expect(new Set(items.map(({ sessionId }) => sessionId)).size).toBe(40)
    })
  })
}
