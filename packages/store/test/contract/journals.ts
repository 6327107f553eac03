import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Journal, Page, PageOptions } from '../../src/journals.js'
import type { Store } from '../../src/store.js'
import type { Bench } from '../contract.js'
import { at, audit, breakerEvent, errorRecord, event, session } from './records.js'

type Any = Journal<unknown, PageOptions & { from?: Date; to?: Date }>

/** Each journal with a function that creates its records, so that common tests are written once. */
const JOURNALS: Record<string, { of(store: Store): Any; record(n: number, time?: Date): unknown }> = {
  sessions: {
    of: (store) => store.sessions as unknown as Any,
    record: (n, time = at(n)) => session(n, { startTime: time, endTime: time }),
  },
  events: { of: (store) => store.events as Any, record: (n, time = at(n)) => event(n, { timestamp: time }) },
  errors: {
    of: (store) => store.errors as Any,
    record: (n, time = at(n)) => errorRecord(n, { timestamp: time }),
  },
  audit: { of: (store) => store.audit as Any, record: (n, time = at(n)) => audit(n, { timestamp: time }) },
  breakerEvents: {
    of: (store) => store.breakerEvents as Any,
    record: (n, time = at(n)) => breakerEvent(n, { timestamp: time }),
  },
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

/** Reads all pages, with an action between two pages. */
export async function pages<T>(
  list: (cursor: string | undefined) => Promise<Page<T>>,
  between: (page: number) => Promise<unknown> = async () => {},
): Promise<T[]> {
  const items: T[] = []
  let cursor: string | undefined
  for (let page = 0; page === 0 || cursor !== undefined; page++) {
    const got = await list(cursor)
    items.push(...got.items)
    cursor = got.cursor
    await between(page)
  }
  return items
}

export function describeJournals(bench: Bench): void {
  for (const [name, { of, record }] of Object.entries(JOURNALS)) {
    describe(`journal of ${name}`, () => {
      const journal = () => of(bench.store)

      it('returns appended records, newest first', async () => {
        await journal().append([record(1), record(2)])
        await journal().append([record(3)])
        expect(await journal().list()).toEqual({ items: [record(3), record(2), record(1)] })
        expect((await journal().list({ order: 'oldest' })).items).toEqual([record(1), record(2), record(3)])
        expect(await journal().count()).toBe(3)
      })

      it('keeps records of the same time in the order of insertion', async () => {
        const same = upTo(20).map((n) => record(n, at(5)))
        await journal().append(same.slice(0, 7))
        await journal().append(same.slice(7))
        expect((await journal().list({ order: 'oldest' })).items).toEqual(same)
        expect((await journal().list()).items).toEqual(same.toReversed())
      })

      it('is empty at first, and appending nothing changes nothing', async () => {
        await journal().append([])
        expect(await journal().list()).toEqual({ items: [] })
        expect(await journal().count()).toBe(0)
        expect(await journal().expire({ before: at(1), maxEntries: 1 })).toBe(0)
      })

      it('returns 100 records without a limit', async () => {
        await journal().append(upTo(101).map((n) => record(n)))
        const page = await journal().list()
        expect(page.items).toHaveLength(100)
        const rest = await journal().list({ cursor: page.cursor })
        expect(rest).toEqual({ items: [record(0)] })
      })

      it('has no cursor after a full last page', async () => {
        await journal().append(upTo(4).map((n) => record(n)))
        const page = await journal().list({ limit: 2 })
        expect(await journal().list({ limit: 2, cursor: page.cursor })).toEqual({
          items: [record(1), record(0)],
        })
      })

      it('includes `from` and excludes `to`', async () => {
        await journal().append(upTo(6).map((n) => record(n)))
        const filter = { from: at(2), to: at(4) }
        expect((await journal().list(filter)).items).toEqual([record(3), record(2)])
        expect((await journal().list({ ...filter, order: 'oldest' })).items).toEqual([record(2), record(3)])
        expect((await journal().list({ from: at(5) })).items).toEqual([record(5)])
        expect((await journal().list({ to: at(1) })).items).toEqual([record(0)])
      })

      it.each(['oldest', 'newest'] as const)(
        'pages in %s order, without gap or duplicate, while others append',
        async (order) => {
          const first = upTo(25).map((n) => record(n))
          await journal().append(first)
          let next = 100
          const items = await pages(
            (cursor) => journal().list({ limit: 4, order, cursor }),
            async () => next < 108 && journal().append([record(next++), record(next++)]),
          )
          const later = upTo(8).map((n) => record(100 + n))
          expect(items).toEqual(order === 'oldest' ? [...first, ...later] : first.toReversed())
        },
      )

      it('lists each record once when the clock is set back', async () => {
        const times = [50, 60, 3, 4, 70, 2, 2, 90, 1]
        const records = times.map((time, n) => record(n, at(time)))
        for (const each of records) await journal().append([each])
        for (const order of ['oldest', 'newest'] as const) {
          const items = await pages((cursor) => journal().list({ limit: 2, order, cursor }))
          expect(items).toHaveLength(records.length)
          expect(items).toEqual(expect.arrayContaining(records))
        }
        expect(await journal().list({ from: at(2), to: at(5) })).toMatchObject({ items: { length: 4 } })
      })

      it('pages across days', async () => {
        const days = upTo(9).map((n) => record(n, at(n * 40_000)))
        await journal().append(days)
        for (const order of ['oldest', 'newest'] as const) {
          const items = await pages((cursor) => journal().list({ limit: 2, order, cursor }))
          expect(items).toEqual(order === 'oldest' ? days : days.toReversed())
        }
      })

      it.each([
        ['is no cursor', { cursor: 'nonsense' }],
        ['is empty', { cursor: '' }],
        ['is of another list', { cursor: Buffer.from('["newest",true,{}]').toString('base64url') }],
        ['is hostile', { cursor: Buffer.from('{"__proto__":1}').toString('base64url') }],
      ])('rejects a cursor that %s', async (_, options) => {
        await journal().append([record(1)])
        await expect(journal().list(options)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      })

      it.each([0, -1, 1.5, Number.NaN])('rejects a limit of %s', async (limit) => {
        await expect(journal().list({ limit })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
      })

      it('deletes records older than a time', async () => {
        await journal().append(upTo(10).map((n) => record(n)))
        expect(await journal().expire({ before: at(4) })).toBe(4)
        expect(await journal().expire({ before: at(4) })).toBe(0)
        expect((await journal().list({ order: 'oldest' })).items).toEqual(upTo(6).map((n) => record(n + 4)))
        expect(await journal().count()).toBe(6)
      })

      it('deletes the oldest records beyond a number', async () => {
        await journal().append(upTo(10).map((n) => record(n)))
        expect(await journal().expire({ maxEntries: 3 })).toBe(7)
        expect((await journal().list()).items).toEqual([record(9), record(8), record(7)])
        expect(await journal().expire({ maxEntries: 3 })).toBe(0)
        await journal().append([record(10)])
        expect(await journal().expire({ before: at(9), maxEntries: 3 })).toBe(2)
        expect((await journal().list()).items).toEqual([record(10), record(9)])
        expect(await journal().expire({ maxEntries: 0 })).toBe(2)
        expect(await journal().count()).toBe(0)
      })

      it('deletes records by age first, then the oldest beyond a number', async () => {
        const all = [50, 1, 60, 2, 70, 3, 55].map((time, n) => record(n, at(time)))
        await journal().append(all)
        const left = (...places: number[]) => places.map((n) => all[n])
        expect(await journal().expire({ before: at(10), maxEntries: 4 })).toBe(3)
        expect((await journal().list({ order: 'oldest' })).items).toEqual(left(0, 2, 4, 6))
        expect(await journal().expire({ before: at(52), maxEntries: 2 })).toBe(2)
        expect((await journal().list({ order: 'oldest' })).items).toEqual(left(4, 6))
        expect(await journal().count()).toBe(2)
      })

      it('deletes whole days, and all records', async () => {
        await journal().append(upTo(6).map((n) => record(n, at(n * 86_400))))
        expect(await journal().expire({ before: at(3 * 86_400) })).toBe(3)
        expect(await journal().count()).toBe(3)
        expect(await journal().expire({ maxEntries: 1 })).toBe(2)
        expect((await journal().list()).items).toEqual([record(5, at(5 * 86_400))])
        expect(await journal().expire({ before: at(9 * 86_400) })).toBe(1)
        expect(await journal().list()).toEqual({ items: [] })
        await journal().append([record(7, at(10 * 86_400))])
        expect(await journal().count()).toBe(1)
      })

      it('continues from a cursor whose record was deleted', async () => {
        await journal().append(upTo(10).map((n) => record(n)))
        const { cursor } = await journal().list({ limit: 3, order: 'oldest' })
        await journal().expire({ before: at(5) })
        expect((await journal().list({ order: 'oldest', cursor })).items).toEqual(
          upTo(5).map((n) => record(n + 5)),
        )
      })

      it('keeps all records of concurrent appends, each batch in order', async () => {
        const batches = upTo(30).map((b) => upTo(5).map((i) => record(b * 5 + i, at(1))))
        await Promise.all(batches.map((batch) => journal().append(batch)))
        const { items } = await journal().list({ limit: 1000, order: 'oldest' })
        expect(items).toHaveLength(150)
        for (const batch of batches) {
          const places = batch.map((each) =>
            items.findIndex((item) => JSON.stringify(item) === JSON.stringify(each)),
          )
          expect(places).toEqual(places.toSorted((a, b) => a - b))
          expect(places).not.toContain(-1)
        }
      })

      it('matches a plain array in generated histories', async () => {
        await fc.assert(
          fc.asyncProperty(
            fc.array(
              fc.oneof(
                fc.record({ append: fc.array(fc.integer({ min: 0, max: 300_000 }), { maxLength: 5 }) }),
                fc.record({ before: fc.integer({ min: 0, max: 300_000 }) }),
                fc.record({ maxEntries: fc.integer({ min: 0, max: 12 }) }),
              ),
              { maxLength: 12 },
            ),
            async (steps) => {
              await journal().expire({ maxEntries: 0 })
              let model: { record: unknown; time: number }[] = []
              let newest = 0
              let n = 0
              for (const step of steps) {
                if ('append' in step) {
                  // Times only grow here, because backends handle a clock that was set back differently.
                  const added = step.append
                    .map((gap) => (newest += gap / 10))
                    .map((time) => ({ time: Math.floor(time), record: record(n++, at(Math.floor(time))) }))
                  model.push(...added)
                  await journal().append(added.map((each) => each.record))
                } else {
                  const kept =
                    'before' in step
                      ? model.filter(({ time }) => time >= step.before)
                      : model.slice(Math.max(0, model.length - step.maxEntries))
                  const limits =
                    'before' in step ? { before: at(step.before) } : { maxEntries: step.maxEntries }
                  expect(await journal().expire(limits)).toBe(model.length - kept.length)
                  model = kept
                }
                expect(await journal().count()).toBe(model.length)
              }
              const records = model.map((each) => each.record)
              expect(await pages((cursor) => journal().list({ limit: 3, cursor, order: 'oldest' }))).toEqual(
                records,
              )
              expect(await pages((cursor) => journal().list({ limit: 3, cursor }))).toEqual(
                records.toReversed(),
              )
            },
          ),
          { numRuns: 15 },
        )
      })
    })
  }

  describe('filters of journals', () => {
    it('finds sessions by operation, subsystem, policy, correlation and outcome, and by id', async () => {
      const { sessions } = bench.store
      const all = [
        session(1),
        session(2, { operation: 'navigation.route', subsystem: 'navigation' }),
        session(3, { policyId: 'fast' }),
        session(4, { success: true, stopped: 'succeeded', correlationId: 'mine' }),
        session(5, { subsystem: null }),
      ]
      await sessions.append(all)
      const found = async (filter: Parameters<typeof sessions.list>[0]) =>
        (await sessions.list({ ...filter, order: 'oldest' })).items.map(({ sessionId }) =>
          Number(sessionId.split('_').at(-1)),
        )
      expect(await found({ operation: 'navigation.route' })).toEqual([2])
      expect(await found({ subsystem: 'browser' })).toEqual([1, 3, 4])
      expect(await found({ policyId: 'fast' })).toEqual([3])
      expect(await found({ correlationId: 'mine' })).toEqual([4])
      expect(await found({ success: true })).toEqual([4])
      expect(await found({ success: false, subsystem: 'browser', from: at(2) })).toEqual([3])
      expect(await found({ operation: 'missing' })).toEqual([])
      expect(await sessions.get((all[2] as { sessionId: string }).sessionId)).toEqual(all[2])
      expect(await sessions.get('missing')).toBeUndefined()
    })

    it('finds sessions by ids with any characters, and deletes each alone', async () => {
      const { sessions } = bench.store
      const ids = ['a\0b', 'a', '\ud800', '\udfff', 'a\\b']
      await sessions.append(ids.map((sessionId, n) => session(n, { sessionId })))
      for (const [n, id] of ids.entries()) expect((await sessions.get(id))?.correlationId).toBe(`c${n}`)
      await sessions.expire({ before: at(1) })
      expect(await sessions.get('a\0b')).toBeUndefined()
      expect((await sessions.get('a'))?.correlationId).toBe('c1')
      await sessions.expire({ maxEntries: 0 })
      for (const id of ids) expect(await sessions.get(id)).toBeUndefined()
    })

    it('does not find an expired session by id', async () => {
      const { sessions } = bench.store
      await sessions.append([session(1), session(2)])
      await sessions.expire({ before: at(2) })
      expect(await sessions.get(session(1).sessionId)).toBeUndefined()
      expect(await sessions.get(session(2).sessionId)).toEqual(session(2))
    })

    it('finds events by types, operations, session, and after an id', async () => {
      const { events } = bench.store
      await events.append([
        event(1),
        event(2, { eventType: 'retry_success' }),
        event(3, { operation: 'other', sessionId: 'x' }),
        event(4, { eventType: 'config_reloaded', component: 'config', operation: null, sessionId: null }),
      ])
      const found = async (filter: Parameters<typeof events.list>[0]) =>
        (await events.list({ ...filter, order: 'oldest' })).items.map(({ correlationId }) => correlationId)
      expect(await found({ types: ['retry_success', 'config_reloaded'] })).toEqual(['c2', 'c4'])
      expect(await found({ types: [] })).toEqual([])
      expect(await found({ operations: ['other', 'missing'] })).toEqual(['c3'])
      expect(await found({ sessionId: 'x' })).toEqual(['c3'])
      expect(await found({ after: event(2).eventId })).toEqual(['c3', 'c4'])
      expect(await found({ after: event(1).eventId, types: ['retry_attempt'] })).toEqual(['c3'])
    })

    it('finds error records by severity, category and operation', async () => {
      const { errors } = bench.store
      await errors.append([
        errorRecord(1),
        errorRecord(2, { severity: 'WARNING' }),
        errorRecord(3, { severity: 'CRITICAL', category: 'CRITICAL' }),
        errorRecord(4, { severity: 'WARNING', context: { operation: 'notion_write' } }),
      ])
      const found = async (filter: Parameters<typeof errors.list>[0]) =>
        (await errors.list(filter)).items.map(({ message }) => message)
      expect(await found({})).toEqual(['failure 4', 'failure 3', 'failure 2', 'failure 1'])
      expect(await found({ severity: 'WARNING' })).toEqual(['failure 4', 'failure 2'])
      expect(await found({ category: 'CRITICAL' })).toEqual(['failure 3'])
      expect(await found({ operation: 'gmail_fetch', severity: 'WARNING' })).toEqual(['failure 2'])
      expect(await found({ severity: 'NONE' })).toEqual([])
    })

    it('pages over error records of all severities without gap or duplicate', async () => {
      const { errors } = bench.store
      const severities = ['WARNING', 'ERROR', 'CRITICAL'] as const
      const some = (from: number, count: number) =>
        upTo(count).map((n) => errorRecord(from + n, { severity: severities[(from + n) % 3] as 'ERROR' }))
      await errors.append(some(0, 20))
      for (const order of ['newest', 'oldest'] as const) {
        const items = await pages((cursor) => errors.list({ limit: 3, order, cursor }))
        expect(items).toEqual(order === 'oldest' ? some(0, 20) : some(0, 20).toReversed())
      }
      let next = 20
      const items = await pages(
        (cursor) => errors.list({ limit: 3, order: 'oldest', cursor }),
        async (page) => page < 3 && errors.append(some(next++, 1)),
      )
      expect(items).toEqual(some(0, 23))
    })

    it('finds audit records by actor, action and target', async () => {
      const { audit: journal } = bench.store
      await journal.append([
        audit(1),
        audit(2, { actor: 'bob' }),
        audit(3, { action: 'breaker.reset', target: 'x' }),
      ])
      const found = async (filter: Parameters<typeof journal.list>[0]) =>
        (await journal.list(filter)).items.map(({ auditId }) => auditId)
      expect(await found({ actor: 'bob' })).toEqual(['a2'])
      expect(await found({ action: 'policy.put' })).toEqual(['a2', 'a1'])
      expect(await found({ target: 'x' })).toEqual(['a3'])
    })

    it('finds breaker events by breaker', async () => {
      const { breakerEvents } = bench.store
      await breakerEvents.append([breakerEvent(1), breakerEvent(2, { id: 'policy:x', proxyId: 'x' })])
      expect((await breakerEvents.list({ id: 'policy:x' })).items).toMatchObject([{ failureCount: 2 }])
    })
  })
}
