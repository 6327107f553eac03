import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { seededRandom } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgres } from '../../../store/src/postgres/index.js'
import { COMMIT, ROLLBACK } from '../../../store/src/postgres/statements/connection.js'
import type { Store } from '../../../store/src/store.js'
import { at, audit, event, letter, storedBreaker } from '../../../store/test/contract/records.js'
import { describeStore } from '../../../store/test/contract.js'
import { makeFolder } from '../../../store/test/place.js'
import { LONG_TIMEOUTS, PostgresServer } from '../../../store/test/postgres-server.js'
import { JOURNAL_STATEMENT } from '../../src/substitutes/postgres/journal-statements.js'
import { createSimulatedPostgres, type SimulatedPostgres } from '../../src/substitutes/postgres/server.js'
import { PostgresSession } from '../../src/substitutes/postgres/session.js'
import { createSimulatedPostgresStore } from '../../src/substitutes/postgres/store.js'
import { TestNetwork } from './links.js'
import {
  type Request as HistoryRequest,
  queueRequests,
  readQueue,
  readRecords,
  recordRequests,
} from './postgres-histories.js'

/** How many histories are generated. */
const HISTORIES = Number(process.env['POSTGRES_HISTORIES'] ?? 8)

/** Many histories take some minutes on a busy machine. */
const HISTORIES_TIMEOUT_MS = 900_000

let schemaCount = 0

/** Deletes all rows of a schema. Partitions stay, because processes remember them. */
const emptyTables = (schema: string): string => `DO $$ DECLARE name text; BEGIN
  FOR name IN SELECT relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = '${schema}' AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'
  LOOP EXECUTE format('TRUNCATE %I.%I RESTART IDENTITY', '${schema}', name); END LOOP; END $$`

const NO_LIMIT = { maxEntries: 1_000_000 }

let nodes = 0

/** A store on a simulated server. */
async function openSimulated(postgres: SimulatedPostgres, network = new TestNetwork()): Promise<Store> {
  const store = createSimulatedPostgresStore({
    host: { postgres, now: () => network.clock.wall() },
    node: `n${nodes++}`,
    clock: network.clock,
    random: seededRandom(1),
    connect: network.connect,
  })
  await store.open()
  return store
}

// The suite that the store in PostgreSQL passes.
describeStore(
  'simulated PostgreSQL',
  async () => {
    const postgres = createSimulatedPostgres()
    return { open: () => openSimulated(postgres), remove: async () => {} }
  },
  { durable: true },
)

const number = fc.nat(6)
const owner = fc.constantFrom('ann', 'bob')
const status = fc.constantFrom(
  'pending' as const,
  'failed' as const,
  'completed' as const,
  'replaying' as const,
)
const selector = fc.record({
  operation: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
  status: fc.option(status, { nil: undefined }),
  from: fc.option(
    fc.nat(60).map((seconds) => at(seconds)),
    { nil: undefined },
  ),
})

/** A command: its reply is compared. */
type Request = (store: Store, now: number) => Promise<unknown>

const request = <T>(
  values: fc.Arbitrary<T>,
  send: (store: Store, value: T, now: number) => Promise<unknown>,
) =>
  values.map(
    (value): Request =>
      (store, now) =>
        send(store, value, now),
  )

const requests = fc.oneof(
  request(
    fc.tuple(fc.array(number, { minLength: 1, maxLength: 3 }), fc.boolean()),
    ({ deadLetters }, [list, isOther], now) =>
      deadLetters.add(
        list.map((n) =>
          letter(n, {
            operationType: n % 2 === 0 ? 'a' : 'b',
            createdAt: at(now),
            lastAttempt: at(now),
            originalPayload: isOther ? { other: true } : { n },
          }),
        ),
        { maxEntries: 5 },
      ),
  ),
  request(fc.tuple(number, owner, fc.nat(30)), ({ deadLetters }, [n, name, lasts], now) =>
    deadLetters.lease(`dlq_${n}`, name, at(now + lasts), at(now)),
  ),
  request(
    fc.tuple(
      fc.subarray(['pending' as const, 'failed' as const]),
      owner,
      fc.nat(30),
      fc.boolean(),
      fc.integer({ min: 1, max: 3 }),
    ),
    ({ deadLetters }, [statuses, name, lasts, requested, limit], now) =>
      deadLetters.leaseNext({ statuses, requested, limit }, name, at(now + lasts), at(now)),
  ),
  request(fc.tuple(number, owner, fc.nat(30)), ({ deadLetters }, [n, name, lasts], now) =>
    deadLetters.renew(`dlq_${n}`, name, at(now + lasts), at(now)),
  ),
  request(
    fc.tuple(number, owner, fc.constantFrom('completed' as const, 'failed' as const, 'pending' as const)),
    ({ deadLetters }, [n, name, result], now) =>
      deadLetters.settle(`dlq_${n}`, name, {
        status: result,
        at: at(now),
        ...(result === 'failed' && { error: { errorType: 'Error', errorMessage: 'again', retryCount: 1 } }),
      }),
  ),
  request(number, ({ deadLetters }, n, now) => deadLetters.complete(`dlq_${n}`, at(now))),
  request(number, ({ deadLetters }, n, now) => deadLetters.request(`dlq_${n}`, at(now))),
  request(
    fc.tuple(number, fc.constantFrom(null, { edited: 1 }, 'text')),
    ({ deadLetters }, [n, payload], now) => deadLetters.edit(`dlq_${n}`, payload, at(now)),
  ),
  request(number, ({ deadLetters }, n) => deadLetters.isProcessed(`dlq_${n}`)),
  request(
    fc.tuple(selector, fc.constantFrom('newest' as const, 'oldest' as const), fc.integer({ min: 1, max: 3 })),
    ({ deadLetters }, [filter, order, limit], now) => deadLetters.purge({ ...filter, order, limit }, at(now)),
  ),
  request(selector, ({ deadLetters }, filter, now) => deadLetters.count(filter, at(now))),
  request(
    fc.tuple(number, fc.constantFrom('x', { y: 1 }), fc.constantFrom(undefined, { edited: 2 })),
    async ({ deadLetters }, [n, originalPayload, editedPayload], now) => {
      const id = `dlq_${n}`
      const read = (await deadLetters.get(id, at(now))) ?? { originalPayload: 'y' }
      return deadLetters.rewrite(id, read, { originalPayload, editedPayload })
    },
  ),
  request(number, ({ deadLetters }, n) =>
    deadLetters.rewrite(`dlq_${n}`, { originalPayload: 'other' }, { originalPayload: 'z' }),
  ),
  request(fc.array(number, { maxLength: 3 }), ({ events }, list, now) =>
    events.append(list.map((n) => event(n, { timestamp: at(now), operation: `op${n % 2}` }))),
  ),
  request(fc.tuple(fc.nat(60), fc.option(number, { nil: undefined })), ({ events }, [seconds, maxEntries]) =>
    events.expire({ before: at(seconds), maxEntries }),
  ),
  request(number, ({ events }, n) =>
    events.list({ operations: [`op${n % 2}`], order: n > 3 ? 'newest' : 'oldest' }),
  ),
  request(number, ({ audit: journal }, n) => journal.append([audit(n)])),
  request(number, ({ breakers }, n) => breakers.save([storedBreaker(`b${n}`, n)])),
  request(fc.array(number, { maxLength: 2 }), ({ breakers }, list) =>
    breakers.delete(list.map((n) => `b${n}`)),
  ),
  request(fc.tuple(number, fc.constantFrom('n1', 'n2')), ({ metrics }, [n, node]) =>
    metrics.save([{ series: 'minute:total', start: n * 60_000, node, data: { calls: n } }]),
  ),
  request(number, ({ metrics }, n) => metrics.expire(n * 60_000)),
  request(fc.tuple(number, fc.nat(2)), ({ layers }, [after, n], now) =>
    layers.append({ version: 0, by: `by${n}`, at: at(now), layer: { n } }, after),
  ),
  request(fc.integer({ min: 1, max: 4 }), ({ layers }, maxEntries) => layers.expire(maxEntries)),
  request(fc.tuple(number, fc.jsonValue()), ({ values }, [n, value]) => values.set(`k${n}`, value)),
  request(number, ({ values }, n) => values.delete(`k${n}`)),
)

/** All data of a store, through its interface. */
async function readAll(store: Store, now: number): Promise<unknown> {
  const [list, stats] = [await store.deadLetters.list({}, at(now)), await store.deadLetters.stats(at(now))]
  const breakers = await store.breakers.load()
  return {
    list,
    stats,
    events: await store.events.list({ order: 'oldest' }),
    eventCount: await store.events.count(),
    audit: (await store.audit.list()).items,
    breakers: breakers.toSorted((a, b) => (a.snapshot.id < b.snapshot.id ? -1 : 1)),
    metrics: await store.metrics.load({ from: 0, to: 1e12 }),
    layers: await store.layers.history(),
    values: await store.values.list(''),
  }
}

/** Replies have the same meaning if their JSON is the same, except for cursors, which a client only returns. */
const toJson = (reply: unknown): unknown =>
  reply === undefined || reply === null
    ? undefined
    : JSON.parse(
        JSON.stringify(reply, (key, value: unknown) => (key === 'cursor' ? 'cursor' : (value ?? undefined))),
      )

/** The connections that wait for a lock of this one. */
const SELECT_BLOCKED = 'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))'

describe('the simulated PostgreSQL, compared with a real one', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.remove())

  it('replies and stores the same in generated histories of two nodes', async () => {
    const dir = await makeFolder()
    let schemas = 0
    try {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(10), fc.boolean(), requests), { minLength: 10, maxLength: 40 }),
          async (steps) => {
            const schema = `simulation_${schemas++}`
            const real = [0, 1].map((n) =>
              openPostgres(server.url, { ...LONG_TIMEOUTS, schema, spillDir: join(dir, `${n}`) }),
            ) as [Store, Store]
            const postgres = createSimulatedPostgres()
            const simulated = [await openSimulated(postgres), await openSimulated(postgres)] as const
            try {
              for (const store of real) await store.open()
              let now = 0
              for (const [i, [advance, isSecond, send]] of steps.entries()) {
                now += advance
                const index = isSecond ? 1 : 0
                const expected = toJson(await send(real[index], now))
                expect(toJson(await send(simulated[index], now)), `step ${i}`).toEqual(expected)
              }
              expect(toJson(await readAll(simulated[0], now))).toEqual(toJson(await readAll(real[0], now)))
            } finally {
              await Promise.all(real.map((store) => store.close()))
              await server.admin(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
            }
          },
        ),
        {
          numRuns: HISTORIES,
          seed: Number(process.env['SEED'] ?? 22),
          endOnFailure: true,
        },
      )
    } finally {
      await rm(dir, { recursive: true })
    }
  })

  /** Runs generated histories of two processes on both servers, and compares every reply, and what `read` returns after a number of steps and at the end. */
  async function compareHistories(
    requestsOf: fc.Arbitrary<HistoryRequest>,
    read: (store: Store, now: number) => Promise<unknown>,
    readEvery: number,
  ): Promise<void> {
    const dir = await makeFolder()
    const schema = `histories_${schemaCount++}`
    const real = [0, 1].map((n) =>
      openPostgres(server.url, { ...LONG_TIMEOUTS, schema, spillDir: join(dir, `${n}`) }),
    ) as [Store, Store]
    try {
      for (const store of real) await store.open()
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(fc.nat(6), fc.nat(1), requestsOf), { minLength: 20, maxLength: 50 }),
          async (steps) => {
            await server.admin(emptyTables(schema))
            const postgres = createSimulatedPostgres()
            const simulated = [await openSimulated(postgres), await openSimulated(postgres)] as const
            let now = 0
            for (const [i, [advance, process, send]] of steps.entries()) {
              now += advance
              const expected = toJson(await send(real[process] as Store, now, process))
              expect(toJson(await send(simulated[process] as Store, now, process)), `step ${i}`).toEqual(
                expected,
              )
              if (i % readEvery > 0 && i < steps.length - 1) continue
              const state = toJson(await read(real[0], now))
              expect(toJson(await read(simulated[0], now)), `the state after step ${i}`).toEqual(state)
            }
          },
        ),
        { numRuns: HISTORIES, seed: Number(process.env['SEED'] ?? 22), endOnFailure: true },
      )
    } finally {
      await Promise.all(real.map((store) => store.close()))
      await rm(dir, { recursive: true })
    }
  }

  it(
    'replies and stores the same when two processes use the same dead letters',
    { timeout: HISTORIES_TIMEOUT_MS },
    () => compareHistories(queueRequests, readQueue, 2),
  )

  it(
    'replies and stores the same in histories of journals, metrics, layers and values',
    { timeout: HISTORIES_TIMEOUT_MS },
    () => compareHistories(recordRequests, (store) => readRecords(store), 20),
  )

  // The substitute executes one statement after another, so only the real server can have two at the same time.
  it('leases no entry that another transaction has locked', async () => {
    const dir = await makeFolder()
    const schema = 'locked_entries'
    const store = openPostgres(server.url, { ...LONG_TIMEOUTS, schema, spillDir: join(dir, 'spill') })
    const other = new pg.Client({ connectionString: server.url })
    try {
      await store.open()
      await store.deadLetters.add([letter(1), letter(2), letter(3)], NO_LIMIT)
      await other.connect()
      await other.query('BEGIN')
      await other.query(`SELECT 1 FROM ${schema}.dead_letters ORDER BY seq LIMIT 1 FOR UPDATE`)
      let hasEnded = false
      const leased = store.deadLetters
        .leaseNext({ statuses: ['pending'], limit: 2 }, 'me', at(60), at(10))
        .finally(() => {
          hasEnded = true
        })
      // A statement that waits for the lock would lease the entry after the end of the transaction.
      let isBlocked = false
      while (!hasEnded && !isBlocked) isBlocked = (await other.query(SELECT_BLOCKED)).rows.length > 0
      await other.query('COMMIT')
      expect((await leased).map(({ dlqId }) => dlqId)).toEqual(['dlq_2', 'dlq_3'])
    } finally {
      await other.end()
      await store.close()
      await rm(dir, { recursive: true })
    }
  })

  it('rejects writes of a read-only server with the same code, and reads from it', async () => {
    const dir = await makeFolder()
    const real = openPostgres(server.url, {
      ...LONG_TIMEOUTS,
      schema: 'read_only',
      spillDir: join(dir, 'spill'),
    })
    await real.open()
    await real.values.set('k', 1)
    await server.admin('ALTER ROLE postgres SET default_transaction_read_only = on')
    await server.terminate()
    const postgres = createSimulatedPostgres()
    const network = new TestNetwork()
    const simulated = await openSimulated(postgres, network)
    await simulated.values.set('k', 1)
    postgres.setFault('read-only', true)
    try {
      const codes = await Promise.all(
        [real, simulated].map(async (store) => {
          const written = store.values.set('k', 2).catch((error: Error) => error)
          await network.clock.advance(60_000)
          const { code, cause } = (await written) as { code?: string; cause?: { code?: string } }
          return [code, cause?.code]
        }),
      )
      expect(codes[1]).toEqual(codes[0])
      expect(codes[1]).toEqual(['STORE_UNAVAILABLE', '25006'])
      for (const store of [real, simulated]) expect(await store.values.get('k')).toBe(1)
    } finally {
      await real.close()
      await server.admin(
        'BEGIN; SET TRANSACTION READ WRITE; ALTER ROLE postgres RESET default_transaction_read_only; COMMIT',
      )
      await rm(dir, { recursive: true })
    }
  })
})

describe('the simulated PostgreSQL with failures', () => {
  const ids = async (store: Store) =>
    (await store.deadLetters.list({}, at(99))).items.map(({ dlqId }) => dlqId)

  it('keeps acknowledged dead letters and loses events that were not flushed in a crash', async () => {
    const postgres = createSimulatedPostgres()
    const network = new TestNetwork()
    const store = await openSimulated(postgres, network)
    await store.events.append([event(1)])
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    await store.events.append([event(2)])
    await store.metrics.save([{ series: 's', start: 0, node: 'n', data: 1 }])
    postgres.crash(network.clock.wall())
    expect(await ids(store)).toEqual(['dlq_1'])
    // The commit of the dead letter has flushed the first event.
    expect((await store.events.list()).items.map(({ eventId }) => eventId)).toEqual([event(1).eventId])
    expect(await store.metrics.load({ from: 0, to: 1 })).toEqual([])
  })

  it('loses no event that is older than the interval of the flush', async () => {
    const postgres = createSimulatedPostgres()
    const network = new TestNetwork()
    const store = await openSimulated(postgres, network)
    await store.events.append([event(1)])
    await network.clock.advance(700)
    postgres.crash(network.clock.wall())
    expect(await store.events.count()).toBe(1)
  })

  it('creates a partition when its transaction is committed', () => {
    const postgres = createSimulatedPostgres()
    const execute = (session: PostgresSession, ...statement: readonly unknown[]) =>
      session.execute(`${JOURNAL_STATEMENT}${JSON.stringify(statement)}`, [], 0, false).rows
    const reader = new PostgresSession(postgres, {})
    const writer = new PostgresSession(postgres, {})
    for (const end of [ROLLBACK, COMMIT]) {
      expect(execute(reader, 'selectPartitions', 'events')).toEqual([])
      writer.execute('BEGIN', [], 0, false)
      execute(writer, 'createPartition', 'events', '"holdfast"."events_1"')
      execute(writer, 'attachPartition', 'events', '"holdfast"."events_1"', 0, 10)
      expect(execute(reader, 'selectPartitions', 'events')).toEqual([])
      writer.execute(end, [], 0, false)
    }
    expect(execute(reader, 'selectPartitions', 'events')).toEqual([{ name: 'events_1' }])
  })

  it('does not repeat a commit whose reply was lost', async () => {
    const network = new TestNetwork()
    const store = await openSimulated(createSimulatedPostgres(), network)
    network.lostReplies = 1
    const leased = store.deadLetters.add([letter(1), letter(2)], NO_LIMIT)
    await network.clock.advance(5000)
    expect((await leased).map(({ result }) => result)).toEqual(['added', 'added'])
    network.lostReplies = 2
    const next = store.deadLetters.leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(60), at(10))
    await network.clock.advance(10_000)
    expect((await next).map(({ dlqId }) => dlqId)).toEqual(['dlq_1'])
    expect((await store.deadLetters.stats(at(11))).byStatus).toMatchObject({ replaying: 1, pending: 1 })
  })

  it('reports a commit as failed although it was made, when every reply is lost', async () => {
    const network = new TestNetwork()
    const store = await openSimulated(createSimulatedPostgres(), network)
    network.lostReplies = 2
    const added = store.deadLetters.add([letter(1)], NO_LIMIT)
    const expected = expect(added).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await network.clock.advance(10_000)
    await expected
    expect(await ids(store)).toEqual(['dlq_1'])
  })

  it.each(['disk-full', 'read-only', 'shutting-down'] as const)(
    'rejects writes when it is %s',
    async (fault) => {
      const network = new TestNetwork()
      const postgres = createSimulatedPostgres()
      const store = await openSimulated(postgres, network)
      postgres.setFault(fault, true)
      const written = expect(store.values.set('k', 1)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await network.clock.advance(60_000)
      await written
      postgres.setFault(fault, false)
      await network.clock.advance(60_000)
      await store.values.set('k', 2)
      expect(await store.values.get('k')).toBe(2)
    },
  )

  it('rejects a call after its timeouts when the server does not respond', async () => {
    const network = new TestNetwork()
    const store = await openSimulated(createSimulatedPostgres(), network)
    network.isStopped = true
    const read = expect(store.values.get('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await network.clock.advance(60_000)
    await read
  })

  it('notifies of requests of other nodes, also after its connection was lost', async () => {
    const network = new TestNetwork()
    const postgres = createSimulatedPostgres()
    const [store, other] = [await openSimulated(postgres, network), await openSimulated(postgres, network)]
    await other.deadLetters.add([letter(1)], NO_LIMIT)
    let calls = 0
    const stop = store.deadLetters.onRequest?.(() => calls++)
    await network.clock.advance(0)
    expect(calls).toBe(1)
    await other.deadLetters.request('dlq_1', at(1))
    await network.clock.advance(0)
    expect(calls).toBe(2)
    network.reset()
    await network.clock.advance(6000)
    expect(calls).toBe(3)
    stop?.()
    await other.deadLetters.request('dlq_1', at(2))
    expect(calls).toBe(3)
  })
})
