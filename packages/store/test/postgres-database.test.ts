import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { openStore } from '../src/open/open-store.js'
import { parseAddress } from '../src/postgres/address.js'
import { BatchLoader } from '../src/postgres/batch-loader.js'
import { loadPostgresDriver } from '../src/postgres/driver.js'
import { openPostgres, type PostgresOptions } from '../src/postgres/index.js'
import { MIGRATIONS } from '../src/postgres/statements/schema.js'
import { at, errorRecord, event, letter, session } from './contract/records.js'
import { tempFolder } from './place.js'
import { LONG_TIMEOUTS, PostgresServer } from './postgres-server.js'

const NO_LIMIT = { maxEntries: 1_000_000 }
const DAY = 86_400
const server = await PostgresServer.start()

describe('the address of a PostgreSQL store', () => {
  it('is shown without its credentials', () => {
    expect(parseAddress('postgres://ann:secret@db:5433/app?schema=mine&sslmode=require')).toEqual({
      url: 'postgres://ann:secret@db:5433/app?sslmode=require',
      displayName: 'db:5433/app',
      schema: 'mine',
      description: 'db:5433/app, schema mine',
      folder: expect.stringMatching(/^db-5433-app-mine-[0-9a-f]{8}$/) as string,
    })
    expect(parseAddress('postgresql://db/app').schema).toBe('holdfast')
  })

  it('has a folder name that depends only on the database and schema', () => {
    const folderOf = (url: string) => parseAddress(url).folder
    const one = folderOf('postgres://ann:secret@db/app')
    expect(folderOf('postgresql://bob@DB:5432/app?sslmode=require&schema=holdfast')).toBe(one)
    const others = [
      'db2/app',
      'db:5433/app',
      'db/app2',
      'db/app?schema=mine',
      '/app?host=/run/db',
      'db/a%2Fb',
    ]
    const folders = others.map((each) => folderOf(`postgres://${each}`))
    expect(new Set([one, ...folders]).size).toBe(7)
    for (const folder of folders) expect(folder).toMatch(/^[\w.-]+$/)
  })

  it.each(['Mine', '1st', 'my-schema', 'a b', '', 'ä', 'x'.repeat(41)])(
    'rejects the schema %j and says what it may hold',
    (name) => {
      const url = `postgres://db/app?schema=${encodeURIComponent(name)}`
      expect(() => parseAddress(url)).toThrow(
        `expected 1 to 40 of the characters a to z, 0 to 9 and _, beginning with a letter or _, got ${JSON.stringify(name)}`,
      )
    },
  )

  it.each(['a', '_', '_9', 'holdfast_2', 'x'.repeat(40)])('accepts the schema %j', (name) => {
    expect(parseAddress(`postgres://db/app?schema=${name}`).schema).toBe(name)
  })

  it.each(['postgres:db', 'mysql://ann:secret@db/app', 'postgres://ann:secret@db/app?schema=Robert";--'])(
    'rejects %j without repeating its credentials',
    (url) => {
      const refused = () => parseAddress(url)
      expect(refused).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }))
      expect(refused).not.toThrow('ann:secret')
    },
  )

  it('is rejected with the package to install if the driver is missing', async () => {
    const missing = loadPostgresDriver(() => Promise.reject(new Error('Cannot find package')))
    await expect(missing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(missing).rejects.toThrow('npm install pg')
  })

  it('is reported as unavailable, with host and database, if no server responds', async () => {
    const dir = await tempFolder()
    const refused = openStore('postgres://ann:secret@127.0.0.1:1/app', { dir })
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(refused).rejects.toThrow('127.0.0.1:1/app')
    await expect(refused).rejects.not.toThrow('secret')
  })
})

describe('a batch loader', () => {
  it('processes items together up to a limit, and those that arrive during a batch', async () => {
    const batches: number[][] = []
    const gather = new BatchLoader<number, number>(
      async (items) => {
        batches.push([...items])
        await new Promise((resolve) => setImmediate(resolve))
        return items.map((item) => item * 2)
      },
      { maxItems: 3, maxConcurrent: 1 },
    )
    const results = await Promise.all([[1], [2], [3, 4], [5]].map((items) => gather.load(items)))
    expect(results).toEqual([[2], [4], [6, 8], [10]])
    expect(batches).toEqual([
      [1, 2],
      [3, 4, 5],
    ])
  })

  it('fails only the call whose data is rejected', async () => {
    const bad = Object.assign(new Error('bad'), { severity: 'ERROR', code: '22021' })
    const gather = new BatchLoader<number, number>(
      async (items) => {
        if (items.includes(2)) throw new Error('refused', { cause: bad })
        return [...items]
      },
      { maxItems: 10, maxConcurrent: 1 },
    )
    const results = await Promise.allSettled([1, 2, 3].map((item) => gather.load([item])))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })
})

describe('a store in PostgreSQL', () => {
  afterAll(() => server.remove())

  let schemas = 0
  let schema: string
  beforeEach(() => {
    schema = `database_${schemas++}`
  })

  async function opened(over: Partial<PostgresOptions> = {}) {
    const store = openPostgres(server.url, {
      schema,
      spillDir: join(await tempFolder(), 'spill'),
      ...LONG_TIMEOUTS,
      ...over,
    })
    onTestFinished(() => store.close())
    await store.open()
    return store
  }
  const partitions = async (table: string) =>
    (await server.admin(`SELECT inhrelid FROM pg_inherits WHERE inhparent = '${schema}.${table}'::regclass`))
      .length

  it('is opened by its url', async () => {
    const dir = await tempFolder()
    for (const url of [server.url, server.url.replace('postgres:', 'postgresql:')]) {
      const store = await openStore(`${url}?schema=${schema}`, { dir })
      expect(store.kind).toBe('postgres')
      await store.close()
    }
    const refused = openStore(server.url.replace('secret', 'wrong-password'), { dir })
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(refused).rejects.toThrow('rejects the user')
    await expect(refused).rejects.not.toThrow('wrong-password')
  })

  it('is migrated once by several processes at the same time', async () => {
    const stores = await Promise.all(Array.from({ length: 6 }, () => opened({ connections: 2 })))
    await Promise.all(stores.map((store, n) => store.values.set(`k${n}`, n)))
    expect(await stores[0]?.values.list('k')).toHaveLength(6)
    expect(await server.admin(`SELECT version FROM ${schema}.migrations`)).toHaveLength(MIGRATIONS.length)
  })

  it('can be used beside a later release with a compatible schema, and is rejected otherwise', async () => {
    const store = await opened()
    await server.admin(
      `INSERT INTO ${schema}.migrations (version, oldest) VALUES (${MIGRATIONS.length + 1}, 1)`,
    )
    await (await opened()).values.set('k', 1)
    expect(await store.values.get('k')).toBe(1)
    await server.admin(
      `INSERT INTO ${schema}.migrations (version, oldest) VALUES (${MIGRATIONS.length + 2}, ${MIGRATIONS.length + 2})`,
    )
    await expect(opened()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(opened()).rejects.toThrow('use a later release')
  })

  it('keeps sessions, events and errors in daily partitions, and drops whole partitions', async () => {
    const store = await opened()
    const days = [0, 1, 2, 3]
    await store.events.append(days.map((n) => event(n, { timestamp: at(n * DAY) })))
    await store.sessions.append(days.map((n) => session(n, { startTime: at(n * DAY) })))
    await store.errors.append(days.map((n) => errorRecord(n, { timestamp: at(n * DAY) })))
    for (const table of ['events', 'sessions', 'errors']) expect(await partitions(table)).toBe(4)
    expect(await store.events.expire({ before: at(2 * DAY) })).toBe(2)
    // The partition of the limit is kept with the records that are not expired.
    expect(await partitions('events')).toBe(2)
    expect(await store.sessions.expire({ maxEntries: 1 })).toBe(3)
    expect(await partitions('sessions')).toBe(1)
  })

  it('appends after another process has dropped the partition', async () => {
    const [one, two] = [await opened(), await opened()]
    await one.events.append([event(1)])
    await two.events.expire({ before: at(9 * DAY) })
    expect(await partitions('events')).toBe(0)
    await one.events.append([event(2)])
    expect((await two.events.list()).items).toEqual([event(2)])
  })

  it('stores times before 1970', async () => {
    const store = await opened()
    const old = event(1, { timestamp: new Date(-5 * DAY * 1000 - 1) })
    await store.events.append([old, event(2)])
    expect((await store.events.list({ to: new Date(0) })).items).toEqual([old])
    expect(await store.events.expire({ before: new Date(0) })).toBe(1)
  })

  it('adds concurrent entries in few transactions', async () => {
    const store = await opened()
    await Promise.all(Array.from({ length: 1000 }, (_, n) => store.deadLetters.add([letter(n)], NO_LIMIT)))
    const changes = await server.admin(`SELECT count(DISTINCT change) AS n FROM ${schema}.dead_letters`)
    expect(Number(changes[0]?.n)).toBeLessThanOrEqual(4)
    expect((await store.deadLetters.stats(at(0))).total).toBe(1000)
  })

  it('settles a lease by the stored entry if another process has changed it since', async () => {
    const [mine, theirs] = [await opened(), await opened()]
    await mine.deadLetters.add([letter(1), letter(2), letter(3)], NO_LIMIT)
    const want = { statuses: ['pending'] as const, limit: 3 }
    await mine.deadLetters.leaseNext(want, 'me', at(60), at(50))
    await theirs.deadLetters.complete('dlq_1', at(51))
    await theirs.deadLetters.lease('dlq_2', 'them', at(200), at(61))
    await mine.deadLetters.renew('dlq_3', 'me', at(300), at(55))
    const failed = { status: 'failed', at: at(70) } as const
    expect(
      await Promise.all(['dlq_1', 'dlq_2', 'dlq_3'].map((id) => mine.deadLetters.settle(id, 'me', failed))),
    ).toEqual([undefined, undefined, expect.objectContaining({ status: 'failed' })])
    expect(await mine.deadLetters.get('dlq_1', at(71))).toMatchObject({ status: 'completed' })
    expect(await mine.deadLetters.get('dlq_2', at(71))).toMatchObject({ status: 'replaying' })
    const { byStatus } = await mine.deadLetters.stats(at(71))
    expect(byStatus).toEqual({ pending: 0, replaying: 1, completed: 1, failed: 1 })
  })

  it('completes leased entries once if another process completes the same ones', async () => {
    const [mine, theirs] = [await opened(), await opened()]
    await mine.deadLetters.add(
      Array.from({ length: 20 }, (_, n) => letter(n)),
      NO_LIMIT,
    )
    const leased = await mine.deadLetters.leaseNext(
      { statuses: ['pending'], limit: 20 },
      'me',
      at(90),
      at(50),
    )
    const done = { status: 'completed', at: at(60) } as const
    const settled = await Promise.all(
      leased.flatMap(({ dlqId }) =>
        [mine, theirs].map((store) => store.deadLetters.settle(dlqId, 'me', done)),
      ),
    )
    expect(settled.filter((entry) => entry !== undefined)).toHaveLength(20)
    expect((await mine.deadLetters.stats(at(71))).byStatus.completed).toBe(20)
  })

  it('counts its entries by operation and status', async () => {
    const store = await opened()
    await store.deadLetters.add(
      Array.from({ length: 30 }, (_, n) => letter(n)),
      NO_LIMIT,
    )
    const leased = await store.deadLetters.leaseNext(
      { statuses: ['pending'], limit: 20 },
      'me',
      at(90),
      at(50),
    )
    await Promise.all(
      leased.map(({ dlqId }, n) =>
        store.deadLetters.settle(dlqId, 'me', { status: n % 2 === 0 ? 'completed' : 'failed', at: at(60) }),
      ),
    )
    await store.deadLetters.purge({ status: 'completed', limit: 3 }, at(61))
    const counted = await server.admin(
      `SELECT status, count(*)::int AS n FROM ${schema}.dead_letters GROUP BY status ORDER BY status`,
    )
    expect(counted).toEqual([
      { status: 'completed', n: 7 },
      { status: 'failed', n: 10 },
      { status: 'pending', n: 10 },
    ])
    expect((await store.deadLetters.stats(at(61))).byStatus).toEqual({
      completed: 7,
      failed: 10,
      pending: 10,
      replaying: 0,
    })
  })

  it('leaves no prepared statements, settings or locks on a connection', async () => {
    const store = await opened({ connections: 1 })
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    await store.events.append([event(1)])
    await store.deadLetters.leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(9), at(1))
    const [activity] = await server.admin(
      `SELECT pid, state FROM pg_stat_activity WHERE application_name = 'holdfast' AND query LIKE '%COMMIT%'`,
    )
    expect(activity).toMatchObject({ state: 'idle' })
    const locks = await server.admin(
      `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND pid = ${String(activity?.pid)}`,
    )
    expect(locks).toEqual([])
  })

  it('notifies listeners of replay requests of any process', async () => {
    const [one, two] = [await opened(), await opened()]
    await one.deadLetters.add([letter(1)], NO_LIMIT)
    let notified = 0
    const off = two.deadLetters.onRequest(() => notified++)
    // The listener is called once when it starts to listen, because a notification may have been missed.
    await expect.poll(() => notified).toBe(1)
    await one.deadLetters.request('dlq_1', at(5))
    await expect.poll(() => notified).toBe(2)
    off()
  })

  it('stores names that are longer than an index entry', async () => {
    const store = await opened()
    const long = 'x'.repeat(10_000)
    await store.deadLetters.add(
      [letter(1, { dlqId: long, operationType: long, itemId: long, idempotencyKey: long })],
      NO_LIMIT,
    )
    expect((await store.deadLetters.list({ operation: long, itemId: long }, at(9))).items).toHaveLength(1)
    await store.values.set(long, 1)
    expect(await store.values.get(long)).toBe(1)
    await store.sessions.append([session(1, { sessionId: long })])
    expect(await store.sessions.get(long)).toBeDefined()
  })
})
