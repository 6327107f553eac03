import { describe, expect, it } from 'vitest'
import type { DeadLetter, DeadLetterStatus } from '../../../records/src/dead-letter.js'
import type { DeadLetterFilter } from '../../src/dead-letter-store.js'
import type { Bench } from '../contract.js'
import { pages } from './journals.js'
import { at, letter } from './records.js'

const NO_LIMIT = { maxEntries: 1_000_000 }
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)
const idsOf = (entries: readonly DeadLetter[]) => entries.map(({ dlqId }) => dlqId)

/** Removes null fields, because null and absent mean the same for an optional field. */
const bare = (entry: DeadLetter | undefined) =>
  entry && Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null))

export function describeDeadLetters(bench: Bench): void {
  const dlq = () => bench.store.deadLetters
  const add = (...entries: DeadLetter[]) => dlq().add(entries, NO_LIMIT)
  const ids = async (filter?: DeadLetterFilter, now = at(1000)) =>
    idsOf((await dlq().list(filter, now)).items)

  describe('dead letters: adding', () => {
    it('returns added entries with their payloads', async () => {
      const payloads = [{ a_b: { cD: [1, null, 'ü', 1.5] } }, [], 'text', 0, false, '', { deep: { er: {} } }]
      const entries = payloads.map((originalPayload, n) => letter(n, { originalPayload }))
      const added = await add(...entries)
      expect(added.map(({ result }) => result)).toEqual(entries.map(() => 'added'))
      for (const entry of entries) {
        expect(bare(await dlq().get(entry.dlqId, at(0)))).toEqual(entry)
        expect(await dlq().isProcessed(entry.dlqId)).toBe(false)
      }
      expect(await dlq().get('missing', at(0))).toBeUndefined()
    })

    it('accepts an empty list', async () => {
      expect(await add()).toEqual([])
    })

    it('detects a known idempotency key, and whether the payload is the same', async () => {
      await add(letter(1, { originalPayload: { a: 1, b: { c: 2, d: 3 } } }))
      const [same, other] = await add(
        letter(2, { idempotencyKey: 'key1', originalPayload: { b: { d: 3, c: 2 }, a: 1 } }),
        letter(3, { idempotencyKey: 'key1', originalPayload: { a: 1 } }),
      )
      expect(same).toMatchObject({ result: 'known', entry: { dlqId: 'dlq_1' } })
      expect(other).toMatchObject({ result: 'conflict', entry: { dlqId: 'dlq_1' } })
      expect(await ids()).toEqual(['dlq_1'])
    })

    it('detects a key that occurs twice in one call', async () => {
      const added = await add(
        letter(1),
        letter(2, { idempotencyKey: 'key1', originalPayload: letter(1).originalPayload }),
      )
      expect(added.map(({ result }) => result)).toEqual(['added', 'known'])
    })

    it('detects the key of a completed entry until the entry is purged', async () => {
      await add(letter(1))
      await dlq().complete('dlq_1', at(2))
      const again = letter(2, { idempotencyKey: 'key1', originalPayload: letter(1).originalPayload })
      expect(await add(again)).toMatchObject([{ result: 'known', entry: { status: 'completed' } }])
      await dlq().purge({}, at(3))
      expect(await add(again)).toMatchObject([{ result: 'added' }])
    })

    it('never replaces an entry by another with the same id', async () => {
      await add(letter(1))
      const [result] = await add(letter(1, { idempotencyKey: 'other', originalPayload: 'other' }))
      expect(result).toMatchObject({ result: 'conflict' })
      expect(bare(await dlq().get('dlq_1', at(0)))).toEqual(letter(1))
    })

    it('knows the second of two equal entries in one call', async () => {
      const results = await add(letter(1), letter(1), letter(1, { originalPayload: 'other' }))
      expect(results.map(({ result }) => result)).toEqual(['added', 'known', 'conflict'])
      expect((await dlq().stats(at(0))).total).toBe(1)
    })

    it('is full when the limit of entries that are not completed is reached', async () => {
      const limits = { maxEntries: 2 }
      const results = await dlq().add([letter(1), letter(2), letter(3)], limits)
      expect(results.map(({ result }) => result)).toEqual(['added', 'added', 'full'])
      expect(await dlq().add([letter(1)], limits)).toMatchObject([{ result: 'known' }])
      await dlq().complete('dlq_1', at(4))
      expect(await dlq().add([letter(3)], limits)).toMatchObject([{ result: 'added' }])
      await dlq().lease('dlq_2', 'me', at(20), at(5))
      await dlq().settle('dlq_2', 'me', { status: 'failed', at: at(6) })
      expect(await dlq().add([letter(4)], limits)).toEqual([{ result: 'full' }])
    })

    it('adds every entry of concurrent calls, one of each key', async () => {
      const results = await Promise.all(
        upTo(60).map((n) => add(letter(n, { idempotencyKey: `k${n % 20}`, originalPayload: n % 20 }))),
      )
      expect(results.flat().filter(({ result }) => result === 'added')).toHaveLength(20)
      expect(results.flat().filter(({ result }) => result === 'known')).toHaveLength(40)
      expect(await ids()).toHaveLength(20)
    })

    it('accepts ids and operations with any characters', async () => {
      const names = [
        '../../etc/passwd',
        '..',
        '.',
        'a/b\\c',
        'nul\0byte',
        'con',
        'Case',
        'case',
        'CASE',
        '%2e%2e',
        'ünï😀',
        ' ',
        '-',
        '__proto__',
        'constructor',
        'x'.repeat(500),
        `${'x'.repeat(500)}y`,
        'a'.repeat(120) + '.json',
        'tail.',
        '\ud800',
      ]
      await add(
        ...names.map((name, n) =>
          letter(n, { dlqId: name, operationType: name, itemId: name, idempotencyKey: name }),
        ),
      )
      expect(await ids()).toEqual(names)
      for (const name of names) {
        expect(await dlq().get(name, at(0))).toMatchObject({ dlqId: name, operationType: name })
        expect(await ids({ operation: name })).toEqual([name])
        expect(await ids({ itemId: name })).toEqual([name])
        await dlq().complete(name, at(100))
        expect(await dlq().isProcessed(name)).toBe(true)
      }
      const { byOperation } = await dlq().stats(at(200))
      expect(Object.keys(byOperation).toSorted()).toEqual(names.toSorted())
      expect(await dlq().purge({}, at(200))).toBe(names.length)
      for (const name of names) expect(await dlq().isProcessed(name)).toBe(true)
    })
  })

  describe('dead letters: listing', () => {
    it('lists the oldest first, entries of the same time in the order of insertion', async () => {
      await add(letter(9), letter(3))
      await add(
        letter(20, { createdAt: at(5) }),
        letter(10, { createdAt: at(5) }),
        letter(15, { createdAt: at(5) }),
      )
      const expected = ['dlq_3', 'dlq_20', 'dlq_10', 'dlq_15', 'dlq_9']
      expect(await ids()).toEqual(expected)
      expect(await ids({ order: 'newest' })).toEqual(expected.toReversed())
    })

    it('filters by operation, status, item and age', async () => {
      await add(
        letter(1),
        letter(2, { operationType: 'notion_write' }),
        letter(3, { itemId: 'special' }),
        letter(4, { operationType: 'notion_write', itemId: 'special' }),
        letter(5),
      )
      await dlq().complete('dlq_1', at(10))
      await dlq().lease('dlq_2', 'me', at(500), at(10))
      await dlq().lease('dlq_3', 'me', at(500), at(10))
      await dlq().settle('dlq_3', 'me', { status: 'failed', at: at(11) })
      expect(await ids({ operation: 'notion_write' })).toEqual(['dlq_2', 'dlq_4'])
      expect(await ids({ operation: 'missing' })).toEqual([])
      expect(await ids({ status: 'completed' })).toEqual(['dlq_1'])
      expect(await ids({ status: 'failed' })).toEqual(['dlq_3'])
      expect(await ids({ status: 'replaying' }, at(499))).toEqual(['dlq_2'])
      expect(await ids({ status: 'pending' }, at(499))).toEqual(['dlq_4', 'dlq_5'])
      expect(await ids({ status: ['pending', 'failed'] }, at(499))).toEqual(['dlq_3', 'dlq_4', 'dlq_5'])
      expect(await ids({ status: [] })).toEqual([])
      expect(await ids({ itemId: 'special' })).toEqual(['dlq_3', 'dlq_4'])
      expect(await ids({ itemId: 'special', operation: 'notion_write', status: 'pending' })).toEqual([
        'dlq_4',
      ])
      expect(await ids({ from: at(2), to: at(4) })).toEqual(['dlq_2', 'dlq_3'])
      expect(await ids({ from: at(2), to: at(4), order: 'newest' })).toEqual(['dlq_3', 'dlq_2'])
    })

    it.each(['oldest', 'newest'] as const)('pages in %s order while others add', async (order) => {
      await add(...upTo(11).map((n) => letter(n)))
      let next = 50
      const items = await pages(
        (cursor) => dlq().list({ limit: 2, order, cursor }, at(1000)),
        async () => next < 54 && add(letter(next++)),
      )
      const first = upTo(11).map((n) => `dlq_${n}`)
      expect(idsOf(items)).toEqual(
        order === 'oldest' ? [...first, 'dlq_50', 'dlq_51', 'dlq_52', 'dlq_53'] : first.toReversed(),
      )
    })

    it.each(['oldest', 'newest'] as const)(
      'pages in %s order though what it saw changes or goes',
      async (order) => {
        await add(...upTo(12).map((n) => letter(n, { createdAt: at(n >> 1) })))
        const seen: string[] = []
        await pages(
          async (cursor) => {
            const page = await dlq().list(
              { limit: 3, order, cursor, status: ['pending', 'completed'] },
              at(1000),
            )
            seen.push(...idsOf(page.items))
            return page
          },
          async (page) => {
            if (page === 0) await dlq().purge({ ids: seen }, at(1000))
            else await dlq().complete(seen.at(-1) as string, at(1000))
          },
        )
        expect(new Set(seen).size).toBe(12)
        expect(seen).toHaveLength(12)
      },
    )

    it('returns 100 entries without a limit, and rejects an invalid cursor', async () => {
      await add(...upTo(101).map((n) => letter(n)))
      const page = await dlq().list(undefined, at(1000))
      expect(page.items).toHaveLength(100)
      expect(idsOf((await dlq().list({ cursor: page.cursor }, at(1000))).items)).toEqual(['dlq_100'])
      await expect(dlq().list({ cursor: 'nonsense' }, at(0))).rejects.toMatchObject({
        code: 'INVALID_OPTIONS',
      })
      await expect(dlq().list({ limit: 0 }, at(0))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    })

    it('counts matching entries with each status', async () => {
      const none = { pending: 0, replaying: 0, completed: 0, failed: 0 }
      expect(await dlq().count({}, at(0))).toEqual(none)
      await add(...upTo(6).map((n) => letter(n, { itemId: `item${n % 2}` })))
      await add(letter(6, { operationType: 'notion_write', itemId: 'item0' }))
      await dlq().complete('dlq_1', at(10))
      await dlq().lease('dlq_2', 'me', at(20), at(10))
      await dlq().lease('dlq_3', 'me', at(20), at(10))
      await dlq().settle('dlq_3', 'me', { status: 'failed', at: at(11) })
      const count = (selector: DeadLetterFilter, now = 15) => dlq().count(selector, at(now))
      expect(await count({})).toEqual({ pending: 4, replaying: 1, completed: 1, failed: 1 })
      // An expired lease is pending.
      expect(await count({}, 20)).toEqual({ pending: 5, replaying: 0, completed: 1, failed: 1 })
      expect(await count({ status: 'pending' }, 20)).toEqual({ ...none, pending: 5 })
      expect(await count({ status: ['replaying', 'failed'] })).toEqual({ ...none, replaying: 1, failed: 1 })
      expect(await count({ itemId: 'item0' })).toEqual({ ...none, pending: 3, replaying: 1 })
      expect(await count({ operation: 'notion_write' })).toEqual({ ...none, pending: 1 })
      expect(await count({ operation: 'missing' })).toEqual(none)
      expect(await count({ from: at(1), to: at(4) })).toEqual({
        ...none,
        completed: 1,
        replaying: 1,
        failed: 1,
      })
      expect(await count({ status: [] })).toEqual(none)
    })

    it('counts by status and operation, and reports the oldest entry that is not completed', async () => {
      const none = { pending: 0, replaying: 0, completed: 0, failed: 0 }
      expect(await dlq().stats(at(0))).toEqual({ total: 0, byStatus: none, byOperation: {} })
      await add(letter(1), letter(2), letter(3, { operationType: 'notion_write' }))
      await dlq().complete('dlq_1', at(5))
      await dlq().lease('dlq_2', 'me', at(20), at(5))
      expect(await dlq().stats(at(19))).toEqual({
        total: 3,
        byStatus: { ...none, pending: 1, replaying: 1, completed: 1 },
        byOperation: {
          gmail_fetch: { ...none, replaying: 1, completed: 1 },
          notion_write: { ...none, pending: 1 },
        },
        oldest: at(2),
      })
      expect((await dlq().stats(at(20))).byStatus).toEqual({ ...none, pending: 2, completed: 1 })
    })
  })

  describe('dead letters: leases', () => {
    it('grants a lease to one owner', async () => {
      await add(letter(1))
      const leased = await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(leased).toMatchObject({ result: 'leased', entry: { status: 'replaying', leasedUntil: at(20) } })
      expect(await dlq().get('dlq_1', at(11))).toMatchObject({ status: 'replaying', leasedUntil: at(20) })
      expect(await dlq().lease('dlq_1', 'you', at(30), at(11))).toEqual({ result: 'held', until: at(20) })
      expect(await dlq().lease('dlq_1', 'me', at(30), at(11))).toEqual({ result: 'held', until: at(20) })
      expect(await dlq().lease('missing', 'me', at(20), at(10))).toEqual({ result: 'missing' })
    })

    it('grants one of many concurrent requests', async () => {
      await add(letter(1))
      const results = await Promise.all(upTo(20).map((n) => dlq().lease('dlq_1', `w${n}`, at(20), at(10))))
      expect(results.filter(({ result }) => result === 'leased')).toHaveLength(1)
      expect(results.filter(({ result }) => result === 'held')).toHaveLength(19)
    })

    it('counts an entry as pending everywhere from the end of its lease', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(await ids({ status: 'replaying' }, at(19.999))).toEqual(['dlq_1'])
      expect(await ids({ status: 'replaying' }, at(20))).toEqual([])
      expect(await ids({ status: 'pending' }, at(20))).toEqual(['dlq_1'])
      const seen = await dlq().get('dlq_1', at(20))
      expect(seen?.status).toBe('pending')
      expect(seen?.leasedUntil ?? null).toBeNull()
      expect(await dlq().lease('dlq_1', 'you', at(40), at(20))).toMatchObject({ result: 'leased' })
    })

    it('counts an entry as leased again when the clock is set back before the end of its lease', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(await dlq().get('dlq_1', at(25))).toMatchObject({ status: 'pending' })
      expect(await dlq().get('dlq_1', at(15))).toMatchObject({ status: 'replaying' })
      expect(await dlq().renew('dlq_1', 'me', at(30), at(15))).toBe(true)
    })

    it('reports a completed entry as done', async () => {
      await add(letter(1))
      await dlq().complete('dlq_1', at(5))
      expect(await dlq().lease('dlq_1', 'me', at(20), at(10))).toMatchObject({
        result: 'done',
        entry: { status: 'completed' },
      })
    })

    it('renews a lease for its owner only, while it is valid', async () => {
      await add(letter(1))
      expect(await dlq().renew('dlq_1', 'me', at(30), at(10))).toBe(false)
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(await dlq().renew('dlq_1', 'you', at(30), at(12))).toBe(false)
      expect(await dlq().renew('dlq_1', 'me', at(30), at(12))).toBe(true)
      expect(await dlq().get('dlq_1', at(25))).toMatchObject({ status: 'replaying', leasedUntil: at(30) })
      expect(await dlq().renew('dlq_1', 'me', at(60), at(30))).toBe(false)
      expect(await dlq().renew('missing', 'me', at(60), at(30))).toBe(false)
    })

    it('leases the oldest matching entries, without excluded ids', async () => {
      await add(letter(5), letter(2), letter(3, { operationType: 'notion_write' }), letter(4), letter(1))
      await dlq().complete('dlq_1', at(10))
      const want = { statuses: ['pending'] as const, limit: 2 }
      const first = await dlq().leaseNext({ ...want, except: new Set(['dlq_2']) }, 'me', at(20), at(10))
      expect(idsOf(first)).toEqual(['dlq_3', 'dlq_4'])
      expect(first).toMatchObject([{ status: 'replaying', leasedUntil: at(20) }, {}])
      expect(idsOf(await dlq().leaseNext({ ...want, limit: 9 }, 'you', at(20), at(11)))).toEqual([
        'dlq_2',
        'dlq_5',
      ])
      expect(await dlq().leaseNext({ ...want, limit: 9 }, 'you', at(20), at(12))).toEqual([])
      const again = { ...want, limit: 9, operations: ['notion_write', 'missing'] }
      expect(idsOf(await dlq().leaseNext(again, 'you', at(40), at(20)))).toEqual(['dlq_3'])
      expect(await dlq().leaseNext({ ...want, operations: [] }, 'you', at(40), at(20))).toEqual([])
    })

    it('leases the entries of an item, of a time range, or with given ids', async () => {
      await add(...upTo(8).map((n) => letter(n, { itemId: `item${n % 2}` })))
      const take = async (more: object) =>
        idsOf(await dlq().leaseNext({ statuses: ['pending'], limit: 9, ...more }, 'me', at(50), at(20)))
      expect(await take({ itemId: 'item0', from: at(2), to: at(6) })).toEqual(['dlq_2', 'dlq_4'])
      expect(await take({ ids: ['dlq_7', 'dlq_2', 'dlq_3', 'missing'] })).toEqual(['dlq_3', 'dlq_7'])
      expect(await take({ ids: ['dlq_0', 'dlq_1'], operations: ['missing'] })).toEqual([])
      expect(await take({ ids: ['dlq_0', 'dlq_1'], except: new Set(['dlq_0']) })).toEqual(['dlq_1'])
      expect(await take({ ids: [] })).toEqual([])
      expect(await take({ itemId: 'item1' })).toEqual(['dlq_5'])
    })

    it('leases failed entries on request', async () => {
      await add(letter(1), letter(2))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      await dlq().settle('dlq_1', 'me', { status: 'failed', at: at(11) })
      const take = (statuses: ('pending' | 'failed')[]) =>
        dlq().leaseNext({ statuses, limit: 5 }, 'me', at(20), at(12))
      expect(idsOf(await take(['failed']))).toEqual(['dlq_1'])
      expect(idsOf(await take(['pending', 'failed']))).toEqual(['dlq_2'])
      expect(await take([])).toEqual([])
    })

    it('leases only entries with a replay request, if requested', async () => {
      await add(...upTo(4).map((n) => letter(n)))
      expect(await dlq().request('dlq_2', at(10))).toMatchObject({
        dlqId: 'dlq_2',
        replayRequestedAt: at(10),
      })
      expect(await dlq().request('missing', at(10))).toBeUndefined()
      const want = { statuses: ['pending', 'failed'] as const, requested: true, limit: 9 }
      expect(idsOf(await dlq().leaseNext(want, 'me', at(20), at(11)))).toEqual(['dlq_2'])
      // The request is kept if the worker died.
      expect(idsOf(await dlq().leaseNext(want, 'you', at(40), at(20)))).toEqual(['dlq_2'])
      // The request is kept if the worker returned the entry.
      await dlq().settle('dlq_2', 'you', { status: 'pending', at: at(21) })
      expect(idsOf(await dlq().leaseNext(want, 'you', at(40), at(22)))).toEqual(['dlq_2'])
      // The request is removed after a replay.
      await dlq().settle('dlq_2', 'you', { status: 'failed', at: at(23) })
      expect(await dlq().leaseNext(want, 'you', at(40), at(24))).toEqual([])
    })

    it('leases only those of the given entries that have a replay request, if requested', async () => {
      await add(...upTo(4).map((n) => letter(n)))
      for (const id of ['dlq_1', 'dlq_3']) await dlq().request(id, at(10))
      const want = { statuses: ['pending'] as const, ids: ['dlq_3', 'dlq_2', 'dlq_0'], limit: 9 }
      expect(idsOf(await dlq().leaseNext({ ...want, requested: true }, 'me', at(20), at(11)))).toEqual([
        'dlq_3',
      ])
      expect(idsOf(await dlq().leaseNext(want, 'me', at(20), at(11)))).toEqual(['dlq_0', 'dlq_2'])
    })

    it('ignores the settlement of a lease after another store has completed the entry', async () => {
      if (!bench.shared) return
      const other = (await bench.another()).deadLetters
      await add(letter(1), letter(2))
      await dlq().lease('dlq_1', 'me', at(90), at(10))
      await dlq().leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(90), at(10))
      for (const id of ['dlq_1', 'dlq_2']) {
        await other.complete(id, at(12))
        const error = { errorType: 'TypeError', errorMessage: 'again', stackTrace: 'at', retryCount: 1 }
        expect(await dlq().settle(id, 'me', { status: 'failed', at: at(13), error })).toBeUndefined()
        expect(await dlq().get(id, at(14))).toMatchObject({ status: 'completed' })
      }
    })

    it('leases each entry to one of many concurrent workers', async () => {
      await add(...upTo(40).map((n) => letter(n)))
      const taken = await Promise.all(
        upTo(10).map((n) => dlq().leaseNext({ statuses: ['pending'], limit: 5 }, `w${n}`, at(90), at(50))),
      )
      expect(new Set(idsOf(taken.flat())).size).toBe(40)
      expect(taken.flat()).toHaveLength(40)
    })
  })

  describe('dead letters: settling', () => {
    const error = { errorType: 'TypeError', errorMessage: 'again', stackTrace: 'at', retryCount: 1 }
    const settle = (status: 'completed' | 'failed' | 'pending', seconds: number, owner = 'me') =>
      dlq().settle('dlq_1', owner, { status, at: at(seconds), ...(status === 'failed' ? { error } : {}) })

    it('completes an entry, and keeps its id as processed', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      const settled = await settle('completed', 15)
      const expected = {
        ...letter(1),
        status: 'completed',
        processed: true,
        lastAttempt: at(15),
        replayedAt: at(15),
      }
      expect(bare(settled)).toEqual(expected)
      expect(bare(await dlq().get('dlq_1', at(16)))).toEqual(expected)
      expect(await dlq().isProcessed('dlq_1')).toBe(true)
      expect(await dlq().purge({ status: 'completed' }, at(17))).toBe(1)
      expect(await dlq().get('dlq_1', at(18))).toBeUndefined()
      expect(await dlq().isProcessed('dlq_1')).toBe(true)
    })

    it('marks an entry as failed, and keeps the history', async () => {
      await add(letter(1))
      for (const start of [10, 20]) {
        await dlq().lease('dlq_1', 'me', at(start + 5), at(start))
        await settle('failed', start + 1)
      }
      const entry = await dlq().get('dlq_1', at(30))
      expect(bare(entry)).toMatchObject({ status: 'failed', processed: false, lastAttempt: at(21) })
      expect(entry?.errorDetails).toEqual({
        ...letter(1).errorDetails,
        history: [
          { ...error, at: at(11) },
          { ...error, at: at(21) },
        ],
      })
      expect(await dlq().isProcessed('dlq_1')).toBe(false)
    })

    it('restores an entry that was not replayed', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(bare(await settle('pending', 12))).toEqual(letter(1))
      expect(await dlq().lease('dlq_1', 'you', at(20), at(13))).toMatchObject({ result: 'leased' })
    })

    it('keeps the times of an entry in order when the clock is set back', async () => {
      await add(letter(1, { lastAttempt: at(5) }))
      await dlq().lease('dlq_1', 'me', at(20), at(2))
      expect(await settle('completed', 3)).toMatchObject({
        createdAt: at(1),
        lastAttempt: at(5),
        replayedAt: at(5),
      })
    })

    it.each(['failed', 'pending'] as const)('changes nothing by a late `%s`', async (status) => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(await settle(status, 20)).toBeUndefined()
      expect(bare(await dlq().get('dlq_1', at(20)))).toEqual(letter(1))
      await dlq().lease('dlq_1', 'you', at(40), at(21))
      expect(await settle(status, 22)).toBeUndefined()
      expect(await dlq().get('dlq_1', at(22))).toMatchObject({ status: 'replaying', leasedUntil: at(40) })
      expect(await dlq().settle('missing', 'me', { status, at: at(1) })).toBeUndefined()
    })

    it('accepts a late `completed`, because the work is done', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      await dlq().lease('dlq_1', 'you', at(40), at(21))
      expect(await settle('completed', 25)).toMatchObject({ status: 'completed', replayedAt: at(25) })
      expect(await dlq().renew('dlq_1', 'you', at(60), at(26))).toBe(false)
      expect(await settle('completed', 27, 'you')).toBeUndefined()
      expect(await settle('failed', 27, 'you')).toBeUndefined()
      expect(await dlq().get('dlq_1', at(30))).toMatchObject({ status: 'completed', replayedAt: at(25) })
    })

    it('records one of many concurrent completions', async () => {
      await add(letter(1))
      const settled = await Promise.all(upTo(10).map((n) => settle('completed', 25 + n, `w${n}`)))
      expect(settled.filter((entry) => entry !== undefined)).toHaveLength(1)
    })

    it('completes an entry without a replay once, even if it is leased', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      const done = await dlq().complete('dlq_1', at(12))
      expect(bare(done)).toEqual({ ...letter(1), status: 'completed', processed: true, replayedAt: at(12) })
      expect(await dlq().complete('dlq_1', at(14))).toEqual(done)
      expect(await dlq().isProcessed('dlq_1')).toBe(true)
      expect(await settle('failed', 15)).toBeUndefined()
      expect(await dlq().complete('missing', at(1))).toBeUndefined()
      expect(await dlq().isProcessed('missing')).toBe(false)
    })

    it('removes the replay request of a completed entry', async () => {
      await add(letter(1))
      await dlq().request('dlq_1', at(5))
      await dlq().complete('dlq_1', at(12))
      const asked = await dlq().request('dlq_1', at(13))
      expect(asked?.status).toBe('completed')
      expect(asked?.replayRequestedAt ?? null).toBeNull()
    })
  })

  describe('dead letters: deleting processed ids', () => {
    const DAY = 86_400
    const complete = async (n: number, seconds: number) => {
      await add(letter(n))
      await dlq().complete(`dlq_${n}`, at(seconds))
    }
    const processed = async (count: number) => {
      const known = await Promise.all(upTo(count).map((n) => dlq().isProcessed(`dlq_${n}`)))
      return upTo(count).filter((n) => known[n])
    }

    it('deletes the ids of entries that are gone and were completed on an earlier day', async () => {
      for (const n of upTo(6)) await complete(n, Math.floor(n / 2) * DAY + n)
      await dlq().purge({}, at(3 * DAY))
      expect(await dlq().deleteProcessedIds(at(DAY))).toBe(2)
      expect(await processed(6)).toEqual([2, 3, 4, 5])
      expect(await dlq().deleteProcessedIds(at(DAY))).toBe(0)
      expect(await dlq().deleteProcessedIds(at(4 * DAY))).toBe(4)
      expect(await processed(6)).toEqual([])
    })

    it('keeps the ids of a day until the day has ended', async () => {
      await complete(0, 10)
      await dlq().purge({}, at(20))
      const hour = 3600
      expect(await dlq().deleteProcessedIds(at(11 * hour))).toBe(0)
      expect(await processed(1)).toEqual([0])
      expect(await dlq().deleteProcessedIds(at(12 * hour))).toBe(1)
    })

    it('keeps the id of an entry that still exists', async () => {
      for (const n of upTo(3)) await complete(n, 10)
      await dlq().purge({ ids: ['dlq_1'] }, at(20))
      expect(await dlq().deleteProcessedIds(at(9 * DAY))).toBe(1)
      expect(await processed(3)).toEqual([0, 2])
      await dlq().purge({}, at(20))
      expect(await dlq().deleteProcessedIds(at(9 * DAY))).toBe(2)
    })

    it('deletes the ids of days that the clock repeated', async () => {
      for (const [n, day] of [0, 2, 0, 2, 1].entries()) await complete(n, day * DAY + n)
      await dlq().purge({}, at(3 * DAY))
      expect(await dlq().deleteProcessedIds(at(DAY))).toBe(2)
      expect(await processed(5)).toEqual([1, 3, 4])
      expect(await dlq().deleteProcessedIds(at(2 * DAY))).toBe(1)
      expect(await processed(5)).toEqual([1, 3])
    })

    it('records further ids after ids were deleted', async () => {
      for (const n of upTo(3)) await complete(n, 10)
      await dlq().purge({}, at(20))
      await dlq().deleteProcessedIds(at(DAY))
      await complete(1, DAY)
      await complete(3, DAY)
      await dlq().purge({}, at(2 * DAY))
      expect(await processed(4)).toEqual([1, 3])
      expect(await dlq().deleteProcessedIds(at(2 * DAY))).toBe(2)
    })

    it('deletes ids in many steps', async () => {
      await dlq().add(
        upTo(2500).map((n) => letter(n, { status: 'completed', processed: true })),
        NO_LIMIT,
      )
      await dlq().purge({}, at(9000))
      expect(await dlq().deleteProcessedIds(at(DAY))).toBe(2500)
      expect(await dlq().isProcessed('dlq_1234')).toBe(false)
    })

    it.runIf(bench.shared)('deletes ids that another process knows, which then completes more', async () => {
      const other = (await bench.another()).deadLetters
      for (const n of upTo(4)) await complete(n, 10)
      await dlq().purge({}, at(20))
      expect(await other.isProcessed('dlq_1')).toBe(true)
      expect(await dlq().deleteProcessedIds(at(DAY))).toBe(4)
      await other.add([letter(4), letter(5)], NO_LIMIT)
      await other.complete('dlq_4', at(DAY))
      expect(await other.isProcessed('dlq_1')).toBe(false)
      await dlq().complete('dlq_5', at(2 * DAY))
      await other.purge({}, at(2 * DAY))
      expect(await processed(6)).toEqual([4, 5])
      expect(await other.deleteProcessedIds(at(2 * DAY))).toBe(1)
      expect(await processed(6)).toEqual([5])
    })
  })

  describe('dead letters: purging and rewriting', () => {
    it('deletes the oldest entries of a status up to a number', async () => {
      await add(...[3, 0, 4, 1, 2].map((n) => letter(n)))
      for (const n of [4, 2, 3, 0]) await dlq().complete(`dlq_${n}`, at(10 + n))
      expect(await dlq().purge({ status: 'completed', limit: 2 }, at(20))).toBe(2)
      expect(await ids()).toEqual(['dlq_1', 'dlq_3', 'dlq_4'])
    })

    it('deletes matching entries that are not leased', async () => {
      await add(...upTo(8).map((n) => letter(n, n % 2 === 0 ? { operationType: 'even' } : {})))
      await dlq().lease('dlq_0', 'me', at(50), at(10))
      expect(await dlq().purge({ operation: 'even' }, at(20))).toBe(3)
      expect(await ids()).toEqual(['dlq_0', 'dlq_1', 'dlq_3', 'dlq_5', 'dlq_7'])
      expect(await dlq().purge({ ids: ['dlq_0', 'dlq_1', 'dlq_1', 'missing'] }, at(20))).toBe(1)
      expect(await dlq().purge({ ids: [] }, at(20))).toBe(0)
      expect(await dlq().purge({ ids: ['dlq_3'], operation: 'even' }, at(20))).toBe(0)
      expect(await dlq().purge({ to: at(5) }, at(20))).toBe(1)
      expect(await dlq().purge({ operation: 'even' }, at(50))).toBe(1)
      expect(await ids()).toEqual(['dlq_5', 'dlq_7'])
      expect(await dlq().purge({ limit: 1 }, at(50))).toBe(1)
      expect(await ids()).toEqual(['dlq_7'])
    })

    it.each(['pending', 'failed', 'completed', 'replaying'] as DeadLetterStatus[])(
      'purges by status %s',
      async (status) => {
        await add(...upTo(4).map((n) => letter(n)))
        await dlq().complete('dlq_1', at(5))
        await dlq().lease('dlq_2', 'me', at(50), at(10))
        await dlq().lease('dlq_3', 'me', at(50), at(10))
        await dlq().settle('dlq_3', 'me', { status: 'failed', at: at(11) })
        expect(await dlq().purge({ status }, at(20))).toBe(status === 'replaying' ? 0 : 1)
        expect(await ids({ status }, at(20))).toEqual(status === 'replaying' ? ['dlq_2'] : [])
      },
    )

    it('purges the oldest or the newest entries up to a limit', async () => {
      await add(...upTo(5).map((n) => letter(n)))
      const idsLeft = async () => idsOf((await dlq().list({}, at(50))).items)
      expect(await dlq().purge({ limit: 1, order: 'newest' }, at(50))).toBe(1)
      expect(await idsLeft()).toEqual(['dlq_0', 'dlq_1', 'dlq_2', 'dlq_3'])
      expect(await dlq().purge({ limit: 1 }, at(50))).toBe(1)
      expect(await idsLeft()).toEqual(['dlq_1', 'dlq_2', 'dlq_3'])
      const ids = ['dlq_2', 'dlq_3', 'dlq_1']
      expect(await dlq().purge({ ids, limit: 2, order: 'newest' }, at(50))).toBe(2)
      expect(await idsLeft()).toEqual(['dlq_1'])
    })

    it('ignores the settlement of a purged entry', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      await dlq().purge({}, at(20))
      expect(await dlq().settle('dlq_1', 'me', { status: 'completed', at: at(21) })).toBeUndefined()
    })

    it('keeps an edited payload beside the original one, over leases and failures', async () => {
      await add(letter(1), letter(2))
      const edited = await dlq().edit('dlq_1', { a_b: ['ü', 1] }, at(10))
      expect(edited).toMatchObject({ result: 'edited', entry: { dlqId: 'dlq_1', status: 'pending' } })
      const expected = { ...letter(1), editedPayload: { a_b: ['ü', 1] } }
      expect(bare(await dlq().get('dlq_1', at(11)))).toEqual(expected)
      const [leased] = await dlq().leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(20), at(12))
      expect(leased).toMatchObject({ dlqId: 'dlq_1', editedPayload: { a_b: ['ü', 1] } })
      expect(await dlq().edit('dlq_1', 'other', at(13))).toEqual({ result: 'held', until: at(20) })
      await dlq().settle('dlq_1', 'me', { status: 'failed', at: at(14) })
      expect(await dlq().edit('dlq_1', 'second', at(15))).toMatchObject({ result: 'edited' })
      expect((await dlq().list({ status: 'failed' }, at(16))).items).toMatchObject([
        { dlqId: 'dlq_1', originalPayload: letter(1).originalPayload, editedPayload: 'second' },
      ])
      await dlq().edit('dlq_1', null, at(17))
      expect((await dlq().get('dlq_1', at(18)))?.editedPayload ?? null).toBeNull()
      await dlq().complete('dlq_1', at(19))
      expect(await dlq().edit('dlq_1', 'late', at(20))).toMatchObject({ result: 'done' })
      expect(await dlq().edit('missing', 'x', at(20))).toEqual({ result: 'missing' })
      expect((await dlq().get('dlq_2', at(20)))?.editedPayload ?? null).toBeNull()
    })

    it('edits an entry whose lease has expired', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      expect(await dlq().edit('dlq_1', 'x', at(20))).toMatchObject({
        result: 'edited',
        entry: { status: 'pending', editedPayload: 'x' },
      })
    })

    it('replaces the edited payload too, if one is given, even while the entry is leased', async () => {
      await add(letter(1))
      await dlq().edit('dlq_1', 'edited', at(5))
      await dlq().leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(20), at(10))
      const read = { originalPayload: letter(1).originalPayload, editedPayload: 'edited' }
      const written = { originalPayload: 'first', editedPayload: 'second' }
      expect(await dlq().rewrite('dlq_1', read, written)).toBe(true)
      await dlq().settle('dlq_1', 'me', { status: 'failed', at: at(11) })
      expect(await dlq().get('dlq_1', at(12))).toMatchObject({
        originalPayload: 'first',
        editedPayload: 'second',
        status: 'failed',
      })
      expect(await dlq().rewrite('dlq_1', written, { originalPayload: 'third' })).toBe(true)
      // A repeated call finds what the first one has written.
      expect(await dlq().rewrite('dlq_1', written, { originalPayload: 'third' })).toBe(true)
      expect(await dlq().get('dlq_1', at(12))).toMatchObject({
        originalPayload: 'third',
        editedPayload: 'second',
      })
    })

    it('replaces no payload of an entry whose payloads differ from those that were read', async () => {
      await add(letter(1, { originalPayload: { a: 1, b: 2 } }))
      const read = { originalPayload: { b: 2, a: 1 } }
      const written = { originalPayload: 'first', editedPayload: 'second' }
      await dlq().edit('dlq_1', 'edited', at(5))
      expect(await dlq().rewrite('dlq_1', read, written)).toBe(false)
      const older = { ...read, editedPayload: 'older' }
      expect(await dlq().rewrite('dlq_1', older, written)).toBe(false)
      expect(await dlq().rewrite('dlq_1', { originalPayload: 'x', editedPayload: 'edited' }, written)).toBe(
        false,
      )
      expect(await dlq().get('dlq_1', at(6))).toMatchObject({
        originalPayload: { a: 1, b: 2 },
        editedPayload: 'edited',
      })
      await dlq().edit('dlq_1', null, at(7))
      expect(await dlq().rewrite('dlq_1', { ...read, editedPayload: 'edited' }, written)).toBe(false)
      expect(await dlq().rewrite('dlq_1', read, { originalPayload: 'first' })).toBe(true)
      expect((await dlq().get('dlq_1', at(8)))?.editedPayload ?? null).toBeNull()
    })

    it('replaces the payload of a completed entry, which stays processed', async () => {
      const { originalPayload } = letter(1)
      await add(letter(1), letter(2))
      await dlq().complete('dlq_1', at(5))
      expect(await dlq().rewrite('dlq_1', { originalPayload }, { originalPayload: 'first' })).toBe(true)
      expect(await dlq().get('dlq_1', at(6))).toMatchObject({ status: 'completed', originalPayload: 'first' })
      expect(await dlq().isProcessed('dlq_1')).toBe(true)
      expect((await dlq().stats(at(6))).byStatus).toMatchObject({ completed: 1, pending: 1 })
    })

    it('replaces the payload and nothing else', async () => {
      await add(letter(1))
      await dlq().lease('dlq_1', 'me', at(20), at(10))
      const { originalPayload } = letter(1)
      const written = { originalPayload: { sealed: 'x' } }
      expect(await dlq().rewrite('dlq_1', { originalPayload }, written)).toBe(true)
      expect(await dlq().rewrite('missing', { originalPayload }, written)).toBeUndefined()
      expect(await dlq().get('dlq_1', at(11))).toMatchObject({
        originalPayload: { sealed: 'x' },
        status: 'replaying',
      })
      expect(await dlq().renew('dlq_1', 'me', at(30), at(12))).toBe(true)
      expect(await dlq().get('missing', at(11))).toBeUndefined()
    })
  })
}
