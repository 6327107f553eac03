import { describe, expect, it } from 'vitest'
import type { Bench } from '../contract.js'
import { at, storedBreaker } from './records.js'

export function describeTables(bench: Bench): void {
  describe('breakers', () => {
    it('saves snapshots, replaces them by id, and deletes them', async () => {
      const { breakers } = bench.store
      expect(await breakers.load()).toEqual([])
      const ids = ['service:notion', 'pool:a%2Fb:../x', '__proto__']
      await breakers.save(ids.map((id) => storedBreaker(id)))
      await breakers.save([storedBreaker('service:notion', 9)])
      const loaded = await breakers.load()
      expect(loaded).toHaveLength(3)
      expect(loaded).toEqual(
        expect.arrayContaining([
          storedBreaker('service:notion', 9),
          storedBreaker('pool:a%2Fb:../x'),
          storedBreaker('__proto__'),
        ]),
      )
      await breakers.delete(['service:notion', '__proto__', 'missing'])
      expect(await breakers.load()).toEqual([storedBreaker('pool:a%2Fb:../x')])
      await breakers.save([])
      await breakers.delete([])
    })

    it('keeps the snapshots of concurrent saves', async () => {
      const { breakers } = bench.store
      await Promise.all(Array.from({ length: 20 }, (_, n) => breakers.save([storedBreaker(`b${n}`)])))
      expect(await breakers.load()).toHaveLength(20)
    })

    it('keeps ids unchanged', async () => {
      const { breakers } = bench.store
      const ids = ['service:a\0b', 'service:a', 'service:\ud800', 'service:\udfff']
      await breakers.save(ids.map((id) => storedBreaker(id)))
      expect((await breakers.load()).map(({ snapshot }) => snapshot.id).toSorted()).toEqual(ids.toSorted())
      await breakers.delete(['service:a\0b', 'service:\ud800'])
      expect((await breakers.load()).map(({ snapshot }) => snapshot.id).toSorted()).toEqual([
        'service:a',
        'service:\udfff',
      ])
    })

    it('keeps all fields of a snapshot', async () => {
      const { breakers } = bench.store
      const stored = storedBreaker('full')
      Object.assign(stored.snapshot, { closedAt: 5, results: '1101', disabled: true, windowType: 'rate' })
      await breakers.save([stored])
      expect(await breakers.load()).toEqual([stored])
    })

    it('loads the durations of a snapshot and not those of the settings', async () => {
      const { breakers } = bench.store
      const stored = storedBreaker('service:notion')
      stored.snapshot.tripDuration = 45_000
      const settings = { failureThreshold: 9, windowDuration: 1000, timeoutDuration: 10_000 }
      await breakers.save([{ ...stored, settings }])
      expect(await breakers.load()).toMatchObject([
        { snapshot: { openDuration: 30_000, tripDuration: 45_000, failureCount: 5 } },
      ])
    })
  })

  /** Characters that some text columns do not preserve. */
  const AWKWARD = ['a\0b', '\0', 'a\\u0000b', 'C:\\new\\\\x', '\ud800', 'a\udfffb', '😀', '', "o'q"]

  describe('metrics', () => {
    const row = (series: string, start: number, data: unknown = { calls: 1 }, node = 'n1') => ({
      series,
      start,
      node,
      data,
    })

    it('replaces rows with the same series, start and node, and returns them oldest first', async () => {
      const { metrics } = bench.store
      await metrics.save([
        row('minute:total', 120_000),
        row('minute:total', 60_000),
        row('minute:policy:x', 60_000),
      ])
      await metrics.save([
        row('minute:total', 60_000, { calls: 5, deep: { a_b: [1] } }),
        row('minute:total', 60_000, { calls: 2 }, 'n2'),
      ])
      const rows = await metrics.load({ from: 0, to: 200_000 })
      expect(rows.map(({ start }) => start)).toEqual([60_000, 60_000, 60_000, 120_000])
      expect(rows).toEqual(
        expect.arrayContaining([
          row('minute:policy:x', 60_000),
          row('minute:total', 60_000, { calls: 5, deep: { a_b: [1] } }),
          row('minute:total', 60_000, { calls: 2 }, 'n2'),
          row('minute:total', 120_000),
        ]),
      )
    })

    it('includes `from` and excludes `to`, and filters by prefix', async () => {
      const { metrics } = bench.store
      await metrics.save(
        [10, 20, 30].flatMap((start) => [row('minute:total', start), row('hour:%_x', start)]),
      )
      expect(await metrics.load({ from: 20, to: 30 })).toHaveLength(2)
      expect(await metrics.load({ from: 10, to: 31, prefix: 'minute:' })).toEqual([
        row('minute:total', 10),
        row('minute:total', 20),
        row('minute:total', 30),
      ])
      expect(await metrics.load({ from: 10, to: 31, prefix: 'hour:%' })).toHaveLength(3)
      expect(await metrics.load({ from: 10, to: 31, prefix: 'minute:_' })).toEqual([])
    })

    it('deletes rows that began before a time, across days', async () => {
      const { metrics } = bench.store
      const day = 86_400_000
      await metrics.save([0, 1, 2, 3].map((n) => row('hour:sketch', n * day + 5)))
      await metrics.save([row('hour:sketch', 5, { calls: 2 })])
      expect(await metrics.expire(2 * day + 5)).toBe(2)
      expect(await metrics.expire(2 * day + 5)).toBe(0)
      expect((await metrics.load({ from: 0, to: 9 * day })).map(({ start }) => start)).toEqual([
        2 * day + 5,
        3 * day + 5,
      ])
    })
  })

  describe('layers', () => {
    const version = (n: number, layer: unknown = { policies: { x: { max_attempts: n } } }) => ({
      version: n,
      by: 'ann',
      reason: 'because',
      at: at(n),
      layer,
    })

    it('adds versions one above the newest, and lists them newest first', async () => {
      const { layers } = bench.store
      expect(await layers.latest()).toBeUndefined()
      expect(await layers.history()).toEqual([])
      expect(await layers.append(version(1), 0)).toBe(true)
      expect(await layers.append(version(2), 1)).toBe(true)
      expect(await layers.latest()).toEqual(version(2))
      expect(await layers.history()).toEqual([version(2), version(1)])
    })

    it('rejects a version that does not follow the newest', async () => {
      const { layers } = bench.store
      expect(await layers.append(version(2), 1)).toBe(false)
      await layers.append(version(1), 0)
      expect(await layers.append(version(1, 'other'), 0)).toBe(false)
      expect(await layers.append(version(3), 2)).toBe(false)
      expect(await layers.history()).toEqual([version(1)])
    })

    it('accepts one of many concurrent versions', async () => {
      const { layers } = bench.store
      const results = await Promise.all(Array.from({ length: 10 }, (_, n) => layers.append(version(1, n), 0)))
      expect(results.filter(Boolean)).toHaveLength(1)
      expect(await layers.history()).toHaveLength(1)
    })

    it('deletes all versions except the newest', async () => {
      const { layers } = bench.store
      expect(await layers.expire(3)).toBe(0)
      for (let n = 1; n <= 5; n++) await layers.append(version(n), n - 1)
      expect(await layers.expire(3)).toBe(2)
      expect(await layers.expire(3)).toBe(0)
      expect(await layers.history()).toEqual([version(5), version(4), version(3)])
      expect(await layers.append(version(6), 5)).toBe(true)
      expect(await layers.latest()).toEqual(version(6))
    })

    it('replaces the layer of a version, and changes nothing else', async () => {
      const { layers } = bench.store
      for (let n = 1; n <= 3; n++) await layers.append(version(n), n - 1)
      await layers.rewrite(2, { sealed: 'other' })
      await layers.rewrite(9, { sealed: 'none' })
      expect(await layers.history()).toEqual([version(3), version(2, { sealed: 'other' }), version(1)])
      expect(await layers.latest()).toEqual(version(3))
    })

    it('keeps actor and reason unchanged', async () => {
      const { layers } = bench.store
      const versions = AWKWARD.map((text, n) => ({ ...version(n + 1, { text }), by: text, reason: text }))
      for (const [n, each] of versions.entries()) expect(await layers.append(each, n)).toBe(true)
      expect(await layers.history()).toEqual(versions.toReversed())
      expect(await layers.latest()).toEqual(versions.at(-1))
    })

    it('sorts versions above ten by number', async () => {
      const { layers } = bench.store
      for (let n = 1; n <= 12; n++) await layers.append(version(n), n - 1)
      expect((await layers.history()).map((each) => each.version)).toEqual([
        12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
      ])
    })
  })

  describe('values', () => {
    it('keeps, replaces and deletes values by key', async () => {
      const { values } = bench.store
      expect(await values.get('token:a')).toBeUndefined()
      await values.set('token:a', { hash_of: 'x', list: [1, null] })
      await values.set('token:a', { hash_of: 'y' })
      await values.set('flag', false)
      await values.set('none', null)
      expect(await values.get('token:a')).toEqual({ hash_of: 'y' })
      expect(await values.get('flag')).toBe(false)
      expect(await values.get('none')).toBeNull()
      await values.delete('token:a')
      await values.delete('token:a')
      expect(await values.get('token:a')).toBeUndefined()
    })

    it('lists by prefix, sorted by key', async () => {
      const { values } = bench.store
      for (const key of ['token:b', 'token:a', 'tokens', 'token%', '__proto__', '../x', 'TOKEN:c'])
        await values.set(key, key)
      expect((await values.list('token:')).map(({ key }) => key)).toEqual(['token:a', 'token:b'])
      expect(await values.list('token%')).toEqual([{ key: 'token%', value: 'token%' }])
      expect((await values.list('')).map(({ key }) => key)).toEqual(
        ['token:b', 'token:a', 'tokens', 'token%', '__proto__', '../x', 'TOKEN:c'].toSorted(),
      )
      expect(await values.get('__proto__')).toBe('__proto__')
    })

    it('is not changed by changes to the value that was passed in or returned', async () => {
      const { values } = bench.store
      const value = { list: [1] }
      await values.set('k', value)
      value.list.push(2)
      const got = (await values.get('k')) as typeof value
      got.list.push(3)
      expect(await values.get('k')).toEqual({ list: [1] })
    })

    it.each([
      ['nothing', undefined],
      ['a function', () => 1],
      ['a BigInt', { n: 1n }],
    ])('rejects %s, which has no JSON form', async (_, value) => {
      const { values } = bench.store
      await values.set('k', 1)
      await expect(values.set('k', value)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      expect(await values.get('k')).toBe(1)
      expect(await values.list('')).toEqual([{ key: 'k', value: 1 }])
    })

    it('keeps the JSON form of a value', async () => {
      const { values } = bench.store
      await values.set('k', { at: at(0), gone: undefined })
      expect(await values.get('k')).toEqual({ at: at(0).toISOString() })
    })

    it('keeps the values of concurrent sets', async () => {
      const { values } = bench.store
      await Promise.all(Array.from({ length: 20 }, (_, n) => values.set(`k${n}`, n)))
      expect(await values.list('k')).toHaveLength(20)
    })
  })

  describe('free space', () => {
    it('is a number or unknown', async () => {
      const free = await bench.store.freeSpace()
      if (free !== undefined) expect(free).toBeGreaterThan(0)
    })
  })
}
