import fc from 'fast-check'
import type { Store } from '../../../store/src/store.js'
import {
  at,
  audit,
  breakerEvent,
  errorRecord,
  event,
  letter,
  session,
} from '../../../store/test/contract/records.js'

/** A command of one of two processes: its reply is compared. `process` is its number. */
export type Request = (store: Store, now: number, process: number) => Promise<unknown>

const request = <T>(
  values: fc.Arbitrary<T>,
  send: (store: Store, value: T, now: number, process: number) => Promise<unknown>,
): fc.Arbitrary<Request> =>
  values.map(
    (value): Request =>
      (store, now, process) =>
        send(store, value, now, process),
  )

const OWNERS = ['ann', 'bob'] as const

/** Mostly the owner of the process itself, so that many leases are settled by the process that remembers them. */
const ownerOf = (process: number, isOther: boolean): string =>
  OWNERS[(process + (isOther ? 1 : 0)) % 2] as string
const isOther = fc.nat(9).map((n) => n === 0)

/** Few entries, so that two processes often use the same one. */
const number = fc.nat(3)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const seconds = fc.nat(60).map((n) => at(n))
const limit = fc.integer({ min: 1, max: 3 })
const order = fc.constantFrom('newest' as const, 'oldest' as const)
const status = fc.constantFrom(
  'pending' as const,
  'failed' as const,
  'completed' as const,
  'replaying' as const,
)
const statuses = fc.subarray(['pending' as const, 'failed' as const], { minLength: 1 })
const settled = fc.constantFrom('completed' as const, 'failed' as const, 'pending' as const)
const selector = fc.record({
  operation: maybe(fc.constantFrom('a', 'b')),
  status: maybe(fc.oneof(status, fc.subarray(['pending' as const, 'failed' as const, 'replaying' as const]))),
  from: maybe(seconds),
  to: maybe(seconds),
  itemId: maybe(number.map((n) => `item${n}`)),
})

/** All pages of a list, each with the cursor of the one before. */
async function readPages<F extends object>(
  list: (filter: F & { cursor?: string | undefined }) => Promise<{ items: unknown[]; cursor?: string }>,
  filter: F,
): Promise<unknown[][]> {
  const pages: unknown[][] = []
  for (let cursor: string | undefined; ; ) {
    const page = await list({ ...filter, cursor })
    pages.push(page.items)
    cursor = page.cursor
    if (cursor === undefined) return pages
  }
}

/** Two processes that lease, settle and change the same few entries at times around the ends of their leases. */
export const queueRequests = fc.oneof(
  {
    weight: 3,
    arbitrary: request(fc.tuple(number, fc.boolean()), ({ deadLetters }, [n, isKeyOnly], now) =>
      deadLetters.add(
        [
          letter(n, {
            ...(isKeyOnly && { dlqId: `other_${n}` }),
            operationType: n % 2 === 0 ? 'a' : 'b',
            createdAt: at(now),
            lastAttempt: at(now),
          }),
        ],
        { maxEntries: 4 },
      ),
    ),
  },
  {
    weight: 5,
    arbitrary: request(
      fc.tuple(statuses, fc.nat(12), fc.nat(3), limit, maybe(number)),
      ({ deadLetters }, [want, lasts, requested, max, except], now, process) =>
        deadLetters.leaseNext(
          {
            statuses: want,
            limit: max,
            ...(requested === 0 && { requested: true }),
            ...(except !== undefined && { except: new Set([`dlq_${except}`]) }),
          },
          ownerOf(process, false),
          at(now + lasts),
          at(now),
        ),
    ),
  },
  {
    weight: 2,
    arbitrary: request(
      fc.tuple(number, isOther, fc.nat(12)),
      ({ deadLetters }, [n, other, lasts], now, process) =>
        deadLetters.lease(`dlq_${n}`, ownerOf(process, other), at(now + lasts), at(now)),
    ),
  },
  {
    weight: 2,
    arbitrary: request(
      fc.tuple(number, isOther, fc.nat(12)),
      ({ deadLetters }, [n, other, lasts], now, process) =>
        deadLetters.renew(`dlq_${n}`, ownerOf(process, other), at(now + lasts), at(now)),
    ),
  },
  {
    weight: 6,
    arbitrary: request(
      fc.tuple(number, isOther, settled),
      ({ deadLetters }, [n, other, result], now, process) =>
        deadLetters.settle(`dlq_${n}`, ownerOf(process, other), {
          status: result,
          at: at(now),
          ...(result === 'failed' && { error: { errorType: 'Error', errorMessage: 'again', retryCount: 1 } }),
        }),
    ),
  },
  {
    weight: 2,
    arbitrary: request(number, ({ deadLetters }, n, now) => deadLetters.complete(`dlq_${n}`, at(now))),
  },
  {
    weight: 2,
    arbitrary: request(number, ({ deadLetters }, n, now) => deadLetters.request(`dlq_${n}`, at(now))),
  },
  {
    weight: 1,
    arbitrary: request(
      fc.tuple(number, fc.constantFrom(null, { edited: 1 })),
      ({ deadLetters }, [n, payload], now) => deadLetters.edit(`dlq_${n}`, payload, at(now)),
    ),
  },
  {
    weight: 1,
    arbitrary: request(
      fc.tuple(selector, order, limit, maybe(fc.uniqueArray(number))),
      ({ deadLetters }, [filter, first, max, ids], now) =>
        deadLetters.purge(
          { ...filter, order: first, limit: max, ...(ids && { ids: ids.map((n) => `dlq_${n}`) }) },
          at(now),
        ),
    ),
  },
  {
    weight: 1,
    arbitrary: request(fc.nat(3), ({ deadLetters }, days) =>
      deadLetters.deleteProcessedIds(new Date(at(0).getTime() + (days - 1) * 86_400_000)),
    ),
  },
  {
    weight: 2,
    arbitrary: request(fc.tuple(selector, order, limit), ({ deadLetters }, [filter, first, max], now) =>
      readPages((page) => deadLetters.list(page, at(now)), { ...filter, order: first, limit: max }),
    ),
  },
  { weight: 1, arbitrary: request(number, ({ deadLetters }, n) => deadLetters.isProcessed(`dlq_${n}`)) },
  {
    weight: 1,
    arbitrary: request(selector, ({ deadLetters }, filter, now) => deadLetters.count(filter, at(now))),
  },
)

/** The queue, after each step. */
export async function readQueue({ deadLetters }: Store, now: number): Promise<unknown> {
  const [list, stats] = await Promise.all([deadLetters.list({}, at(now)), deadLetters.stats(at(now))])
  return { list: list.items, stats }
}

const range = { from: maybe(seconds), to: maybe(seconds), order, limit: fc.integer({ min: 1, max: 4 }) }
const records = fc.array(fc.nat(60), { minLength: 1, maxLength: 4 })
/** Days before and after the first one, because each has a partition of its own. */
const DAY_S = 86_400
const days = fc.integer({ min: -2, max: 2 }).map((n) => n * DAY_S)

/** Appends, filters, pages and retention of all journals, with metrics, layers and values. */
export const recordRequests = fc.oneof(
  request(fc.tuple(records, days), ({ sessions }, [list, day]) =>
    sessions.append(
      list.map((n) =>
        session(n, {
          startTime: at(day + n),
          operation: `op${n % 3}`,
          success: n % 2 === 0,
          policyId: `p${n % 2}`,
        }),
      ),
    ),
  ),
  request(fc.tuple(records, days), ({ events }, [list, day]) =>
    events.append(
      list.map((n) => event(n, { timestamp: at(day + n), operation: `op${n % 3}`, sessionId: `s${n % 4}` })),
    ),
  ),
  request(records, ({ errors }, list) =>
    errors.append(list.map((n) => errorRecord(n, { severity: n % 2 === 0 ? 'ERROR' : 'WARNING' }))),
  ),
  request(records, ({ audit: journal }, list) =>
    journal.append(list.map((n) => audit(n, { actor: OWNERS[n % 2] as string }))),
  ),
  request(records, ({ breakerEvents }, list) =>
    breakerEvents.append(list.map((n) => breakerEvent(n, { id: `service:${n % 2}` }))),
  ),
  request(
    fc.record({
      ...range,
      operation: maybe(fc.constantFrom('op0', 'op1')),
      success: maybe(fc.boolean()),
      policyId: maybe(fc.constantFrom('p0', 'p1')),
    }),
    ({ sessions }, filter) => readPages((page) => sessions.list(page), filter),
  ),
  request(
    fc.record({
      ...range,
      operations: maybe(fc.subarray(['op0', 'op1'])),
      sessionId: maybe(fc.constantFrom('s0', 's1')),
      after: maybe(fc.nat(60).map((n) => event(n).eventId)),
    }),
    ({ events }, filter) => readPages((page) => events.list(page), filter),
  ),
  request(
    fc.record({ ...range, severity: maybe(fc.constantFrom('ERROR', 'WARNING')) }),
    ({ errors }, filter) => readPages((page) => errors.list(page), filter),
  ),
  request(fc.record({ ...range, actor: maybe(fc.constantFrom(...OWNERS)) }), ({ audit: journal }, filter) =>
    readPages((page) => journal.list(page), filter),
  ),
  request(fc.record({ ...range, id: maybe(fc.constant('service:1')) }), ({ breakerEvents }, filter) =>
    readPages((page) => breakerEvents.list(page), filter),
  ),
  request(fc.nat(60), ({ sessions }, n) => sessions.get(session(n).sessionId)),
  request(
    fc.tuple(fc.constantFrom('sessions' as const, 'events' as const), days, fc.nat(60), maybe(fc.nat(6))),
    (store, [name, day, n, maxEntries]) => store[name].expire({ before: at(day + n), maxEntries }),
  ),
  request(fc.tuple(fc.nat(6), fc.constantFrom('n1', 'n2'), fc.nat(9)), ({ metrics }, [n, node, calls]) =>
    metrics.save([
      { series: n % 2 === 0 ? 'minute:total' : 'hour:total', start: n * 60_000, node, data: { calls } },
    ]),
  ),
  request(
    fc.tuple(fc.nat(6), fc.nat(6), maybe(fc.constantFrom('minute:', 'h'))),
    ({ metrics }, [from, to, prefix]) => metrics.load({ from: from * 60_000, to: to * 60_000, prefix }),
  ),
  request(fc.nat(6), ({ metrics }, n) => metrics.expire(n * 60_000)),
  request(fc.tuple(fc.nat(4), fc.nat(2)), ({ layers }, [after, n], now) =>
    layers.append({ version: 0, by: `by${n}`, at: at(now), layer: { n } }, after),
  ),
  request(fc.constant(0), ({ layers }) => layers.latest()),
  request(fc.integer({ min: 1, max: 3 }), ({ layers }, maxEntries) => layers.expire(maxEntries)),
  request(fc.tuple(fc.nat(4), fc.nat(9)), ({ layers }, [version, n]) => layers.rewrite(version, { n })),
  request(fc.tuple(fc.constantFrom('k1', 'k_', 'k%', 'l'), fc.nat(9)), ({ values }, [key, value]) =>
    values.set(key, value),
  ),
  request(fc.constantFrom('k', 'k_', 'k%', ''), ({ values }, prefix) => values.list(prefix)),
  request(fc.constantFrom('k1', 'k_', 'k%'), ({ values }, key) => values.delete(key)),
)

/** Everything besides the queue, after each history. */
export async function readRecords(store: Store): Promise<unknown> {
  const journals = [store.sessions, store.events, store.errors, store.audit, store.breakerEvents]
  const lists = journals.map(async (journal) => (await journal.list({ limit: 1000 })).items)
  return {
    lists: await Promise.all(lists),
    counts: await Promise.all(journals.map((journal) => journal.count())),
    metrics: await store.metrics.load({ from: 0, to: 1e12 }),
    layers: await store.layers.history(),
    values: await store.values.list(''),
  }
}
