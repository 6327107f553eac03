// Knex and Drizzle on a real PostgreSQL, which is started from npm. It takes real time.
import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable } from 'drizzle-orm/pg-core'
import { sessionOf } from 'holdfast'
import type { TransactionOptions } from 'holdfast/sql'
import createKnex, { type Knex } from 'knex'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { PostgresServer } from '../../../scripts/servers/postgres.mjs'
import * as drizzleAdapter from '../src/drizzle/index.js'
import * as knexAdapter from '../src/knex/index.js'

const server = await PostgresServer.start()
afterAll(() => server.remove())

beforeAll(async () => {
  await server.admin('CREATE TABLE accounts (id int PRIMARY KEY, balance int NOT NULL CHECK (balance >= 0))')
})

beforeEach(async () => {
  await server.admin('TRUNCATE accounts; INSERT INTO accounts VALUES (1, 100), (2, 100)')
})

const balances = async () =>
  (await server.admin('SELECT balance FROM accounts ORDER BY id')).map(({ balance }) => balance)

/** The work of a test in a transaction, in the terms of an ORM. */
interface Work {
  add(id: number, amount: number): PromiseLike<unknown>
  sum(): Promise<number>
  /** Sleeps in the database; `mark` identifies the statement. */
  sleep(mark: string): PromiseLike<unknown>
  pid(): Promise<number>
  /** Adds within a savepoint that is rolled back. */
  addAndRollBackToSavepoint(id: number, amount: number): Promise<void>
  /** Rolls the transaction back as the ORM documents it. */
  rollback(): unknown
}

/** A database with an ORM and `size` connections. */
interface Orm {
  transaction<T>(fn: (work: Work, attempt: number) => Promise<T>, options?: TransactionOptions): Promise<T>
  /** The number of connections that are in use. */
  used(): number
  close(): Promise<unknown>
}

const accounts = pgTable('accounts', { id: integer().primaryKey(), balance: integer().notNull() })

function openKnex(size: number): Orm {
  const db = createKnex({ client: 'pg', connection: server.url, pool: { min: 0, max: size } })
  const workOf = (trx: Knex.Transaction): Work => ({
    add: (id, amount) => trx('accounts').where({ id }).increment('balance', amount),
    sum: async () => Number((await trx('accounts').sum({ sum: 'balance' }))[0]?.['sum']),
    sleep: (mark) => trx.raw(`SELECT pg_sleep(60) /* ${mark} */`),
    pid: async () => (await trx.raw('SELECT pg_backend_pid() AS pid')).rows[0].pid,
    addAndRollBackToSavepoint: async (id, amount) => {
      const savepoint = trx.transaction(async (inner) => {
        await inner('accounts').where({ id }).increment('balance', amount)
        throw new Error('back to the savepoint')
      })
      await savepoint.catch(() => {})
    },
    rollback: () => trx.rollback(),
  })
  return {
    transaction: (fn, options) =>
      knexAdapter.withTransaction(db, (trx, { number }) => fn(workOf(trx), number), options),
    used: () => (db.client as { pool: { numUsed(): number } }).pool.numUsed(),
    close: () => db.destroy(),
  }
}

function openDrizzle(size: number): Orm {
  const pool = new pg.Pool({ connectionString: server.url, max: size })
  const db = drizzle(pool)
  const workOf = (tx: Parameters<Parameters<typeof db.transaction>[0]>[0]): Work => {
    const add = (on: Pick<typeof tx, 'update'>, id: number, amount: number) =>
      on
        .update(accounts)
        .set({ balance: sql`${accounts.balance} + ${amount}` })
        .where(eq(accounts.id, id))
    return {
      add: (id, amount) => add(tx, id, amount),
      sum: async () => Number((await tx.select({ sum: sql`sum(balance)` }).from(accounts))[0]?.sum),
      sleep: (mark) => tx.execute(sql.raw(`SELECT pg_sleep(60) /* ${mark} */`)),
      pid: async () => (await tx.execute(sql`SELECT pg_backend_pid() AS pid`)).rows[0]?.['pid'] as number,
      addAndRollBackToSavepoint: async (id, amount) => {
        const savepoint = tx.transaction(async (inner) => {
          await add(inner, id, amount)
          throw new Error('back to the savepoint')
        })
        await savepoint.catch(() => {})
      },
      rollback: () => tx.rollback(),
    }
  }
  return {
    transaction: (fn, options) =>
      drizzleAdapter.withTransaction(db, (tx, { number }) => fn(workOf(tx), number), options),
    used: () => pool.totalCount - pool.idleCount,
    close: () => pool.end(),
  }
}

const QUICK = { retry: { baseDelay: 20, jitterMax: 20 } }

/** Resolves for both of two callers when the second has called it; later calls resolve at once. */
function meetingOfTwo(): () => Promise<void> {
  let count = 0
  let release = () => {}
  const met = new Promise<void>((resolve) => (release = resolve))
  return () => {
    if (++count === 2) release()
    return met
  }
}

const slowCommits = `
  CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
  CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION linger()`

const activeStatements = async (part: string): Promise<number> =>
  (
    await server.admin(`SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%${part}%'
      AND query NOT LIKE '%pg_stat_activity%'`)
  ).length

let marks = 0

describe.each([
  ['Knex', openKnex],
  ['Drizzle', openDrizzle],
])('withTransaction of %s', (name, open) => {
  /** Opens a database for one test, which must return every connection. */
  const openForTest = (size = 4): Orm => {
    const orm = open(size)
    onTestFinished(async () => {
      await expect.poll(() => orm.used()).toBe(0)
      await orm.close()
    })
    return orm
  }

  it('commits and returns the value', async () => {
    const orm = openForTest()
    const sum = await orm.transaction(async (work) => {
      await work.add(1, 5)
      return work.sum()
    })
    expect(sum).toBe(205)
    expect(await balances()).toEqual([105, 100])
  })

  it('retries a deadlocked transaction as a whole', async () => {
    const orm = openForTest()
    const meet = meetingOfTwo()
    const attempts: number[] = []
    const move = (from: number, to: number, amount: number) =>
      orm.transaction(async (work, attempt) => {
        attempts.push(attempt)
        await work.add(from, -amount)
        await meet()
        await work.add(to, amount)
      }, QUICK)
    await Promise.all([move(1, 2, 10), move(2, 1, 1)])
    expect(await balances()).toEqual([91, 109])
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 2])
  })

  it('retries one of two conflicting serializable transactions', async () => {
    const orm = openForTest()
    const meet = meetingOfTwo()
    const attempts: number[] = []
    const addSum = () =>
      orm.transaction(
        async (work, attempt) => {
          attempts.push(attempt)
          const sum = await work.sum()
          await meet()
          await work.add(1, sum)
        },
        { ...QUICK, isolation: 'serializable' },
      )
    await Promise.all([addSum(), addSum()])
    // The second sum contains the result of the first transaction.
    expect(await balances()).toEqual([100 + 200 + 400, 100])
    expect(attempts.toSorted((a, b) => a - b)).toEqual([1, 1, 2])
  })

  it('retries on another connection when the connection was terminated before COMMIT', async () => {
    const orm = openForTest()
    const pids: number[] = []
    await orm.transaction(async (work, attempt) => {
      const pid = await work.pid()
      pids.push(pid)
      await work.add(1, 5)
      if (attempt === 1) await server.admin(`SELECT pg_terminate_backend(${pid})`)
      await work.add(2, 5)
    }, QUICK)
    expect(await balances()).toEqual([105, 105])
    expect(new Set(pids).size).toBe(2)
  })

  it('does not retry a constraint violation', async () => {
    const orm = openForTest()
    let calls = 0
    const error: unknown = await orm
      .transaction(async (work) => (calls++, work.add(1, -500)), QUICK)
      .catch((thrown: unknown) => thrown)
    expect(calls).toBe(1)
    expect(sessionOf(error)?.stopped).toBe('not_retryable')
    expect(await balances()).toEqual([100, 100])
  })

  it('does not retry a transaction whose connection was terminated during COMMIT', async () => {
    const orm = openForTest()
    let calls = 0
    await server.admin(slowCommits)
    try {
      const update = orm.transaction(async (work) => (calls++, work.add(1, 5)), QUICK)
      const ended = expect(update).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' })
      const waiting = `SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'`
      await expect.poll(async () => (await server.admin(waiting)).length).toBe(1)
      await server.admin(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS w`)
      await ended
      expect(calls).toBe(1)
    } finally {
      await server.admin('DROP TRIGGER slow ON accounts; DROP FUNCTION linger')
    }
  })

  it.each([
    ['the call', { timeout: { total: 300 }, retry: false as const }, 'TOTAL_TIMEOUT'],
    ['an attempt', { timeout: { attempt: 300 }, retry: { maxAttempts: 2, baseDelay: 1 } }, 'ATTEMPT_TIMEOUT'],
  ])('cancels its statement on the server at the deadline of %s', async (_, options, code) => {
    const orm = openForTest(1)
    const mark = `${name} ${++marks}`
    const slow = orm.transaction(async (work) => {
      await work.add(1, 5)
      await work.sleep(mark)
    }, options)
    await expect(slow).rejects.toMatchObject({ code })
    await expect.poll(() => activeStatements(mark)).toBe(0)
    expect(await balances()).toEqual([100, 100])
    // The connection and the lock are free again.
    await orm.transaction(async (work) => work.add(1, 7))
    expect(await balances()).toEqual([107, 100])
  })

  it('cancels its statement on the server when the caller aborts', async () => {
    const orm = openForTest()
    const mark = `${name} ${++marks}`
    const controller = new AbortController()
    const slow = orm.transaction((work) => Promise.resolve(work.sleep(mark)), { signal: controller.signal })
    const ended = expect(slow).rejects.toBe('enough')
    await expect.poll(() => activeStatements(mark)).toBe(1)
    controller.abort('enough')
    await ended
    await expect.poll(() => activeStatements(mark)).toBe(0)
  })

  it('rolls a nested transaction back to its savepoint and commits the rest', async () => {
    const orm = openForTest()
    await orm.transaction(async (work) => {
      await work.add(1, 5)
      await work.addAndRollBackToSavepoint(2, 5)
    })
    expect(await balances()).toEqual([105, 100])
  })

  it('rejects without a retry after a rollback by the function', async () => {
    const orm = openForTest()
    let calls = 0
    const update = orm.transaction(async (work) => {
      calls++
      await work.add(1, 5)
      await work.rollback()
    }, QUICK)
    await expect(update).rejects.toThrow(/rolled the transaction back|Rollback|non-error/)
    expect(calls).toBe(1)
    expect(await balances()).toEqual([100, 100])
  })

  it.each(['failed', 'was committed'])('rejects a statement after the transaction %s', async (end) => {
    const orm = openForTest()
    let kept: Work | undefined
    const call = orm.transaction(async (work) => {
      kept = work
      await work.sum()
      if (end === 'failed') throw new Error('stopped')
    }, QUICK)
    await call.catch(() => {})
    await expect(Promise.resolve(kept?.add(1, 5))).rejects.toThrow()
    expect(await balances()).toEqual([100, 100])
  })

  it('rejects options that are not valid', async () => {
    const orm = openForTest()
    const call = orm.transaction(async () => 1, { isolation: 'chaos' as never })
    await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

it('rejects a Knex instance of another database', async () => {
  const db = createKnex({ client: 'mysql2' })
  onTestFinished(() => db.destroy())
  await expect(knexAdapter.withTransaction(db, () => 1)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
})

it('rejects a Drizzle database on a single connection', async () => {
  const db = drizzle(new pg.Client(server.url))
  const call = drizzleAdapter.withTransaction(db as never, () => 1)
  await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
})
