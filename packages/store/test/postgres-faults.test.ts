import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fakeClock } from 'holdfast/testing'
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { loadPostgresDriver } from '../src/postgres/driver.js'
import { openPostgres, type PostgresOptions, type PostgresStore } from '../src/postgres/index.js'
import { at, event, letter } from './contract/records.js'
import { tempFolder } from './place.js'
import { LONG_TIMEOUTS, PostgresServer } from './postgres-server.js'

const NO_LIMIT = { maxEntries: 1_000_000 }
/** The timeout for a stopped server. */
const SHORT = { addTimeout: 50, closeTimeout: 200 }
const server = await PostgresServer.start()

describe('a PostgreSQL store with a failing server', () => {
  afterAll(() => server.remove())

  let schemas = 0
  let schema: string
  let dir: string
  let said: string[]
  beforeEach(async () => {
    schema = `faults_${schemas++}`
    dir = await tempFolder()
    said = []
  })

  async function opened(over: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
    const store = openPostgres(server.url, {
      schema,
      spillDir: join(dir, 'spill'),
      warn: (line) => said.push(line),
      ...LONG_TIMEOUTS,
      addTimeout: 30_000,
      ...over,
    })
    onTestFinished(() => store.close())
    await store.open()
    return store
  }

  /** Runs work while the server is stopped. */
  async function whileDown(work: () => Promise<unknown>): Promise<void> {
    await server.stop()
    try {
      await work()
    } finally {
      await server.begin()
    }
  }

  /** Resolves when a warning contains the text. */
  const heard = (word: string) => expect.poll(() => said.join('\n')).toContain(word)

  it('retries when connections end', async () => {
    const store = await opened()
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    for (let n = 2; n < 6; n++) {
      await server.terminate()
      expect(await store.deadLetters.add([letter(n)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
      await store.events.append([event(n)])
    }
    expect((await store.deadLetters.stats(at(9))).total).toBe(5)
    expect(await store.events.count()).toBe(4)
    expect(said).toEqual([])
  })

  it('writes dead letters to the local disk while the server is down, and moves them when it is back', async () => {
    const store = await opened()
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    await whileDown(async () => {
      const added = await store.deadLetters.add([letter(2), letter(3)], NO_LIMIT)
      expect(added.map(({ result }) => result)).toEqual(['added', 'added'])
      const again = letter(9, { idempotencyKey: 'key2', originalPayload: letter(2).originalPayload })
      expect(await store.deadLetters.add([again], NO_LIMIT)).toMatchObject([
        { result: 'known', entry: { dlqId: 'dlq_2' } },
      ])
      expect(await store.deadLetters.get('dlq_3', at(9))).toMatchObject({ dlqId: 'dlq_3' })
      const [own = '', ...others] = await readdir(join(dir, 'spill'))
      expect(own).toMatch(new RegExp(`^127\\.0\\.0\\.1-${server.port}-postgres-${schema}-[0-9a-f]{8}$`))
      expect(others).toEqual([])
      expect(await readdir(join(dir, 'spill', own, 'dlq'))).toContain('gmail_fetch')
      const refused = store.deadLetters.list(undefined, at(9))
      await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect(refused).rejects.not.toThrow('secret')
      await expect(store.events.append([event(1)])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    })
    await heard('to PostgreSQL')
    const { items } = await store.deadLetters.list(undefined, at(9))
    expect(items.map(({ dlqId }) => dlqId)).toEqual(['dlq_1', 'dlq_2', 'dlq_3'])
  })

  it('moves the entries of an earlier process once', async () => {
    const store = await opened()
    await whileDown(async () => {
      await store.deadLetters.add([letter(1), letter(2)], NO_LIMIT)
      await store.close()
    })
    const next = await opened()
    await heard('2 dead letters')
    expect((await next.deadLetters.stats(at(9))).total).toBe(2)
  })

  it('does not insert an entry again that was completed and purged before the disk fallback removed it', async () => {
    const store = await opened()
    await whileDown(async () => {
      await store.deadLetters.add([letter(1)], NO_LIMIT)
      await store.close()
    })
    // Another process has moved it, and died before it deleted the entry on the disk.
    const other = await opened({ spillDir: join(dir, 'elsewhere') })
    await other.deadLetters.add([letter(1)], NO_LIMIT)
    await other.deadLetters.complete('dlq_1', at(5))
    await other.deadLetters.purge({}, at(6))
    said = []
    await opened()
    await heard('moved')
    expect((await other.deadLetters.stats(at(9))).total).toBe(0)
  })

  it('keeps both payloads that were acknowledged under one key', async () => {
    const store = await opened()
    const other = await opened({ spillDir: join(dir, 'elsewhere') })
    await whileDown(async () => {
      await store.deadLetters.add([letter(1, { idempotencyKey: 'same', originalPayload: 'here' })], NO_LIMIT)
      await other.deadLetters.add([letter(2, { idempotencyKey: 'same', originalPayload: 'there' })], NO_LIMIT)
    })
    await expect.poll(() => said.filter((line) => line.includes('moved')).length).toBe(2)
    const { items } = await store.deadLetters.list(undefined, at(9))
    expect(items.map(({ originalPayload }) => originalPayload)).toEqual(['here', 'there'])
    expect(new Set(items.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2)
  })

  it('does not get entries of another database', async () => {
    const store = await opened()
    await whileDown(async () => {
      await store.deadLetters.add([letter(1)], NO_LIMIT)
      await store.close()
    })
    const other = await opened({ schema: `${schema}_other` })
    const back = await opened()
    await heard('moved')
    expect((await other.deadLetters.stats(at(9))).total).toBe(0)
    expect((await back.deadLetters.stats(at(9))).total).toBe(1)
  })

  it('finds an entry by each id under which it was acknowledged', async () => {
    const same = { idempotencyKey: 'same', originalPayload: 'x' }
    const store = await opened()
    const other = await opened({ spillDir: join(dir, 'elsewhere') })
    await other.deadLetters.add([letter(1, same)], NO_LIMIT)
    await whileDown(async () => {
      const added = await store.deadLetters.add([letter(2, same)], NO_LIMIT)
      expect(added).toMatchObject([{ result: 'added', entry: { dlqId: 'dlq_2' } }])
    })
    await heard('moved')
    const { deadLetters } = other
    expect((await deadLetters.list(undefined, at(9))).items).toMatchObject([{ dlqId: 'dlq_1' }])
    expect(await deadLetters.get('dlq_2', at(9))).toMatchObject({ dlqId: 'dlq_1', status: 'pending' })
    expect(await deadLetters.request('dlq_2', at(9))).toMatchObject({ dlqId: 'dlq_1' })
    expect(await deadLetters.lease('dlq_2', 'me', at(20), at(10))).toMatchObject({
      result: 'leased',
      entry: { dlqId: 'dlq_1' },
    })
    expect(await deadLetters.isProcessed('dlq_2')).toBe(false)
    expect(await deadLetters.complete('dlq_2', at(11))).toMatchObject({ dlqId: 'dlq_1', status: 'completed' })
    expect(await deadLetters.isProcessed('dlq_2')).toBe(true)
    expect(await deadLetters.purge({ ids: ['dlq_2', 'dlq_9'] }, at(12))).toBe(1)
    expect(await deadLetters.get('dlq_2', at(12))).toBeUndefined()
    expect(await deadLetters.isProcessed('dlq_2')).toBe(true)
    expect(await deadLetters.lease('dlq_9', 'me', at(20), at(10))).toEqual({ result: 'missing' })
  })

  it('applies the limit of entries on the local disk too', async () => {
    const store = await opened()
    await whileDown(async () => {
      const added = await store.deadLetters.add([letter(1), letter(2)], { maxEntries: 1 })
      expect(added.map(({ result }) => result)).toEqual(['added', 'full'])
    })
  })

  it('does not delay calls and close for long when the server is stopped', async () => {
    const store = await opened({ connectTimeout: 5000, ...SHORT })
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    const off = store.deadLetters.onRequest(() => {})
    await server.signal('SIGSTOP')
    const waiting = store.events.append([event(1)])
    waiting.catch(() => {})
    try {
      for (const n of [2, 3, 4])
        expect(await store.deadLetters.add([letter(n)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
      // The first call that times out checks the server, and ends all others.
      await expect(waiting).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      void store.events.append([event(2)]).catch(() => {})
      await store.close()
    } finally {
      off()
      await server.signal('SIGCONT')
    }
    const next = await opened()
    // The first entry may also have been added after its timeout.
    await heard('dead letters were moved')
    expect((await next.deadLetters.stats(at(9))).total).toBe(4)
  })

  it('limits the time of each statement in the server', async () => {
    const store = await opened({ statementTimeout: 97_000 })
    await server.admin(`CREATE FUNCTION ${schema}.report() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN NEW.value := to_json(current_setting('statement_timeout')); RETURN NEW; END $$;
      CREATE TRIGGER report BEFORE INSERT ON ${schema}.named_values FOR EACH ROW EXECUTE FUNCTION ${schema}.report()`)
    await store.values.set('k', 1)
    expect(await store.values.get('k')).toBe('97s')
  })

  it('reports a statement that was canceled because it took too long', async () => {
    const store = await opened()
    const { Client } = await loadPostgresDriver()
    const other = new Client({
      connectionString: server.url,
      application_name: 'test',
      connectionTimeoutMillis: 100_000,
      query_timeout: 100_000,
      keepAlive: true,
      pipeline: false,
    })
    await other.connect()
    onTestFinished(() => other.end())
    await other.query(`BEGIN; LOCK TABLE ${schema}.named_values`)
    const waiting = store.values.set('k', 1)
    const reported = expect(waiting).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('a statement took too long and was canceled') as string,
    })
    // An administrator cancels it, with the code of a timeout: a timeout would depend on the speed of the machine.
    await expect
      .poll(() =>
        server.admin(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast' AND wait_event_type = 'Lock'`,
        ),
      )
      .toHaveLength(1)
    await reported
    await other.query('ROLLBACK')
    await store.values.set('k', 2)
    expect(await store.values.get('k')).toBe(2)
  })

  it('gets no entries of a closed store', async () => {
    const clock = fakeClock()
    const store = await opened({ clock })
    await store.close()
    await clock.advance(60_000)
    expect(said).toEqual([])
  })
})
