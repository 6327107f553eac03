// Transactions and the short form of the example on a real PostgreSQL, which is started from npm. It takes real time.
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Run, run } from '../../../../examples/rag-storage/src/example.js'
import { Server } from '../../../../examples/rag-storage/src/server.js'
import { withTransaction } from '../../src/sql/index.js'

const server = await Server.start()
afterAll(() => server.remove())

describe('withTransaction on PostgreSQL', () => {
  const quick = { retry: { baseDelay: 20, jitterMax: 20 } }
  const account = () => ({ ...server.address, user: 'postgres', password: 'secret', database: 'rag' })
  let pool: pg.Pool

  beforeAll(async () => {
    pool = new pg.Pool({ ...account(), max: 4 })
    // The error of a connection that the server terminates is expected.

    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    await pool.query('CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0))')
  })

  afterAll(async () => {
    await pool.query('DROP TABLE accounts')
    await pool.end()
  })

  const fill = () =>
    pool.query('TRUNCATE accounts').then(() => pool.query('INSERT INTO accounts VALUES (1, 100), (2, 100)'))
  const balances = async () =>
    (await pool.query('SELECT balance FROM accounts ORDER BY id')).rows.map((row) => row.balance)
  const add = (client: pg.PoolClient, id: number, amount: number) =>
    client.query('UPDATE accounts SET balance = balance + $2 WHERE id = $1', [id, amount])

  it('retries a deadlocked transaction as a whole', async () => {
    await fill()
    const attempts: number[] = []
    let both = () => {}
    const meet = new Promise<void>((resolve) => (both = resolve))
    let there = 0
    const move = (from: number, to: number, amount: number) =>
      withTransaction(
        pool,
        async (client, { number }) => {
          attempts.push(number)
          await add(client, from, -amount)
          if (++there === 2) both()
          await meet
          await add(client, to, amount)
        },
        quick,
      )
    await Promise.all([move(1, 2, 10), move(2, 1, 1)])
    expect(await balances()).toEqual([91, 109])
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 2])
  })

  it('retries a transaction on another connection when its connection was terminated', async () => {
    await fill()
    const pids = new Set<number>()
    await withTransaction(
      pool,
      async (client, { number }) => {
        const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
        pids.add(rows[0].pid)
        await add(client, 1, 5)
        if (number === 1) await server.admin(`SELECT pg_terminate_backend(${rows[0].pid})`)
        await add(client, 2, 5)
      },
      quick,
    )
    expect(await balances()).toEqual([105, 105])
    expect(pids.size).toBe(2)
    await expect.poll(() => pool.totalCount).toBeLessThanOrEqual(4)
  })

  it('retries one of two conflicting serializable transactions', async () => {
    await fill()
    const bump = () =>
      withTransaction(
        pool,
        async (client) => {
          const { rows } = await client.query('SELECT sum(balance)::int AS sum FROM accounts')
          await client.query('UPDATE accounts SET balance = $1 WHERE id = 1', [rows[0].sum])
        },
        { ...quick, isolation: 'serializable' },
      )
    await Promise.all([bump(), bump()])
    expect(await balances()).toEqual([300, 100])
  })

  it('does not retry a constraint violation', async () => {
    await fill()
    let calls = 0
    const overdraw = withTransaction(pool, (client) => (calls++, add(client, 1, -500)), quick)
    await expect(overdraw).rejects.toMatchObject({ code: '23514' })
    expect(calls).toBe(1)
    expect(await balances()).toEqual([100, 100])
  })

  it('reports a failed statement whose error was ignored', async () => {
    await fill()
    const passing = withTransaction(
      pool,
      async (client) => {
        await add(client, 1, 7)
        await add(client, 1, -500).catch(() => {})
      },
      quick,
    )
    await expect(passing).rejects.toThrow('but its error was not thrown by the function')
    expect(await balances()).toEqual([100, 100])
  })

  it('does not retry a transaction whose connection was terminated during COMMIT', async () => {
    await fill()
    await pool.query(`
      CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION linger()`)
    try {
      const update = withTransaction(pool, (client) => add(client, 1, 5), quick)
      const ended = expect(update).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' })
      const waiting = `SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'`
      await expect.poll(async () => (await server.admin(waiting)).length).toBe(1)
      await server.admin(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS w`)
      await ended
    } finally {
      await pool.query('DROP TRIGGER slow ON accounts; DROP FUNCTION linger')
    }
  })

  let marks = 0
  const sleeping = async (mark: string) =>
    (
      await server.admin(`SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%sleep%${mark}%'
      AND pid <> pg_backend_pid()`)
    ).length

  it.each([
    ['a deadline of the call', 1, { timeout: { total: 300 }, retry: false as const }],
    ['a deadline of the call, in a pool of several', 3, { timeout: { total: 300 }, retry: false as const }],
    ['a deadline of an attempt', 1, { timeout: { attempt: 300 }, retry: { maxAttempts: 2, baseDelay: 1 } }],
  ])('cancels its statement on the server after %s', async (_, max, options) => {
    await fill()
    const small = new pg.Pool({ ...account(), max })
    onTestFinished(() => small.end())
    const mark = `/* ${++marks} */`
    const slow = withTransaction(
      small,
      async (client) => {
        await add(client, 1, 5)
        await client.query(`SELECT pg_sleep(60) ${mark}`)
      },
      options,
    )
    await expect(slow).rejects.toMatchObject({ code: expect.stringMatching('_TIMEOUT') })
    await expect.poll(() => sleeping(mark)).toBe(0)
    expect(await balances()).toEqual([100, 100])
    // The lock is free again.
    await withTransaction(small, (client) => add(client, 1, 7))
    expect(await balances()).toEqual([107, 100])
  })

  it('cancels only its own statement when the caller aborts', async () => {
    const mark = `/* ${++marks} */`
    const other = await pool.connect()
    onTestFinished(() => other.release(true))
    const going = other.query(`SELECT pg_sleep(60) ${mark}`).catch(() => {})
    const controller = new AbortController()
    const slow = withTransaction(pool, (client) => client.query(`SELECT pg_sleep(60) ${mark}`), {
      signal: controller.signal,
    })
    await expect.poll(() => sleeping(mark)).toBe(2)
    controller.abort('enough')
    await expect(slow).rejects.toBe('enough')
    await expect.poll(() => sleeping(mark)).toBe(1)
    await server.admin(`SELECT pg_cancel_backend(${(other as unknown as { processID: number }).processID})`)
    await going
  })

  it('does not cancel a running COMMIT at the deadline', async () => {
    await fill()
    await pool.query(`
      CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION linger()`)
    try {
      const update = withTransaction(pool, (client) => add(client, 1, 5), { timeout: { total: 1000 } })
      await expect(update).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' })
      await expect.poll(balances).toEqual([105, 100])
    } finally {
      await pool.query('DROP TRIGGER slow ON accounts; DROP FUNCTION linger')
    }
  })

  it('ends at once when it is aborted, and leaves no rows behind', async () => {
    await fill()
    const controller = new AbortController()
    const update = withTransaction(
      pool,
      async (client) => {
        await add(client, 1, 5)
        controller.abort('enough')
        await client.query('SELECT pg_sleep(30)')
      },
      { signal: controller.signal },
    )
    await expect(update).rejects.toBe('enough')
    expect(await balances()).toEqual([100, 100])
  })
})

describe('the short form of the example rag-storage', () => {
  let [without, withRetries] = [] as unknown as [Run, Run]

  beforeAll(async () => {
    without = await run(server, false, 12, () => {})
    withRetries = await run(server, true, 12, () => {})
  })

  it('writes every document only with retries', () => {
    expect(withRetries.outcomes.map(({ failed }) => failed)).toEqual([0, 0, 0, 0, 0])
    expect(without.outcomes[0]?.failed).toBe(0)
    expect(without.outcomes.reduce((sum, { failed }) => sum + failed, 0)).toBeGreaterThan(0)
  })

  it('leaves no row missing, duplicated or incomplete', () => {
    expect(withRetries.findings).toEqual({ missing: 0, duplicate: 0, partial: 0 })
    expect(without.findings).toMatchObject({ duplicate: 0, partial: 0 })
    expect(without.findings.missing).toBeGreaterThan(0)
  })

  it('does not retry permanent errors', () => {
    expect(withRetries.attempts).toEqual({ constraint: 1, argument: 1 })
  })

  it('recovers from deadlocks', () => {
    const deadlocks = withRetries.outcomes.find(({ fault }) => fault === 'deadlocks')
    expect(deadlocks?.errors.get('40P01')).toBeGreaterThan(0)
    expect(deadlocks?.recovery).toBeGreaterThan(0)
  })

  it('logs each event at its level', () => {
    const said = (level: string, text: RegExp) =>
      withRetries.lines.filter((line) => line.level === level && text.test(line.text)).length
    expect(said('debug', /^VectorStorage.addDocument succeeded, no retry needed$/)).toBeGreaterThan(0)
    expect(
      said('info', /^GraphStorage.upsertEntities: retry 1 of 6 in \d+ ms: deadlock detected$/),
    ).toBeGreaterThan(0)
    expect(said('info', /succeeded after \d retry attempts?$/)).toBeGreaterThan(0)
    expect(said('warn', /gave up after 1 attempt: /)).toBe(2)
    expect(without.lines.filter(({ text }) => text.includes('retry 1'))).toEqual([])
  })

  it('applies the overrides of class and method', () => {
    const said = withRetries.lines.flatMap(
      ({ text }) => /^(\w+)\.\w+: retry \d of (\d)/.exec(text)?.slice(1).join(' ') ?? [],
    )
    expect(said).toContain('GraphStorage 6')
    expect(said.filter((text) => text.startsWith('V')).every((text) => text === 'VectorStorage 5')).toBe(true)
  })
})
