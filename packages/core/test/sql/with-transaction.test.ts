import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CircuitBreaker } from '../../src/breaker/breaker.js'
import { classify } from '../../src/classify/index.js'
import type { HoldfastError } from '../../src/errors.js'
import { guard } from '../../src/guard/guard.js'
import { type TransactionOptions, withTransaction } from '../../src/sql/index.js'
import { fakeClock } from '../../src/testing/index.js'
import { type FakeClient, FakePool, failing, lost, pgError, type Reply } from './fake-pool.js'

const NOW: TransactionOptions = { retry: { backoffType: 'immediate', jitterType: 'none' } }
/** The log of one connection. */
const on = (id: number, words: string) => words.split(' ').map((word) => `${id} ${word}`)
/** The error that a promise rejects with. */
const failure = (promise: Promise<unknown>): Promise<HoldfastError> =>
  promise.then(
    () => Promise.reject(new Error('it did not fail')),
    (error) => error,
  )
const insert = (client: FakeClient) => client.query('INSERT')

describe('withTransaction', () => {
  it('begins, commits and releases the connection', async () => {
    const pool = new FakePool()
    const value = await withTransaction(pool, async (client, attempt) => {
      await client.query('INSERT')
      return attempt.number
    })
    expect(value).toBe(1)
    expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 COMMIT', '1 released'])
  })

  it.each([
    [{}, 'BEGIN'],
    [{ isolation: 'read committed' }, 'BEGIN ISOLATION LEVEL READ COMMITTED'],
    [{ isolation: 'repeatable read' }, 'BEGIN ISOLATION LEVEL REPEATABLE READ'],
    [{ isolation: 'serializable', readOnly: true }, 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY'],
    [{ readOnly: true }, 'BEGIN READ ONLY'],
  ] as const)('of %o begins with %s', async (options, begin) => {
    const pool = new FakePool()
    await withTransaction(pool, insert, options)
    expect(pool.log[0]).toBe(`1 ${begin}`)
  })

  it('survives a connection that is lost while it is handed out', async () => {
    const pool = new FakePool()
    const connect = pool.connect.bind(pool)
    // Like the pool of pg, it emits the connection first, and data that the server sent with it arrives before the promise.
    pool.connect = async () => {
      const client = await connect()
      pool.emit('acquire', client)
      if (client.id === 1) {
        client.query = async () =>
          Promise.reject(new Error('Client has encountered a connection error and is not queryable'))
        client.emit('error', pgError('57P01'))
      }
      return client
    }
    await withTransaction(pool, insert, NOW)
    expect(pool.log).toEqual(['1 closed', ...on(2, 'BEGIN INSERT COMMIT released')])
    await new Promise((resolve) => setImmediate(resolve))
    // A closed connection can still emit errors.
    expect(pool.clients.map((client) => client.listenerCount('error'))).toEqual([1, 0])
  })

  it('accepts connections without events', async () => {
    const log: string[] = []
    const client = {
      query: async (text: string) => void log.push(text),
      release: () => void log.push('released'),
    }
    await withTransaction({ connect: async () => client }, (db) => db.query('INSERT'))
    expect(log).toEqual(['BEGIN', 'INSERT', 'COMMIT', 'released'])
  })

  it('retries the whole transaction on another connection', async () => {
    const pool = new FakePool(failing('INSERT', pgError('40P01'), pgError('40001')))
    await withTransaction(pool, insert, NOW)
    const failed = 'BEGIN INSERT ROLLBACK released'
    expect(pool.log).toEqual([...on(1, failed), ...on(2, failed), ...on(3, 'BEGIN INSERT COMMIT released')])
  })

  it('uses the delays of the preset postgres, with 4 attempts in total', async () => {
    const clock = fakeClock()
    const pool = new FakePool(failing('INSERT', ...Array.from({ length: 9 }, () => pgError('40P01'))))
    const answer = withTransaction(pool, insert, { clock, random: () => 0.5 }).catch((error) => error)
    await clock.advance(550 + 1050 + 2049)
    expect(pool.log.filter((line) => line.endsWith('INSERT'))).toHaveLength(3)
    await clock.advance(1)
    expect(await answer).toMatchObject({ code: '40P01' })
    expect(pool.log.filter((line) => line.endsWith('INSERT'))).toHaveLength(4)
  })

  it.each(['23505', '22001', '42601', '28P01'])('rolls back and does not run again on %s', async (code) => {
    const error = pgError(code)
    const pool = new FakePool(failing('INSERT', error))
    await expect(withTransaction(pool, insert, NOW)).rejects.toBe(error)
    expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 ROLLBACK', '1 released'])
  })

  it('rolls back without a retry on an unknown error of the function', async () => {
    const pool = new FakePool()
    const error = new Error('changed my mind')
    const fn = () => {
      throw error
    }
    await expect(withTransaction(pool, fn, NOW)).rejects.toBe(error)
    expect(pool.log).toEqual(['1 BEGIN', '1 ROLLBACK', '1 released'])
  })

  it('retries by retryOn and retryIf', async () => {
    const once = (options: TransactionOptions) => {
      const pool = new FakePool(failing('INSERT', new Error('conflict of ours')))
      return withTransaction(pool, insert, { retry: { ...NOW.retry, ...options.retry } }).then(
        () => pool.log.length,
      )
    }
    expect(await once({ retry: { retryOn: [Error] } })).toBe(8)
    expect(await once({ retry: { retryIf: ({ error }) => error !== undefined } })).toBe(8)
    await expect(once({ retry: { retryOn: [] } })).rejects.toThrow('conflict of ours')
  })

  it('runs one attempt with retry: false', async () => {
    const pool = new FakePool(failing('INSERT', pgError('40P01')))
    await expect(withTransaction(pool, insert, { retry: false })).rejects.toMatchObject({ code: '40P01' })
  })

  it('retries when no connection is available', async () => {
    const pool = new FakePool(
      failing('connect', pgError('53300', 'sorry, too many clients already'), pgError('57P03')),
    )
    await withTransaction(pool, insert, NOW)
    expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 COMMIT', '1 released'])
  })

  it('closes a broken connection and one that cannot roll back', async () => {
    const pool = new FakePool((text, client) => {
      if (text === 'INSERT' && client.id === 1) {
        client.emit('error', lost())
        throw lost()
      }
      if (client?.id === 2 && text !== 'BEGIN') throw pgError('57P01')
    })
    await withTransaction(pool, insert, NOW)
    expect(pool.log).toEqual([
      ...on(1, 'BEGIN INSERT closed'),
      ...on(2, 'BEGIN INSERT ROLLBACK closed'),
      ...on(3, 'BEGIN INSERT COMMIT released'),
    ])
  })

  it.each([
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
  ])('treats "%s" as a lost connection', async (message) => {
    const pool = new FakePool(failing('BEGIN', new Error(message)))
    await withTransaction(pool, insert, NOW)
    expect(pool.log.at(-1)).toBe('2 released')
  })

  it('survives error events of connections, also later ones', async () => {
    const clients: FakeClient[] = []
    const pool = new FakePool()
    const fn = async (client: FakeClient) => {
      clients.push(client)
      client.emit('error', lost())
      if (clients.length === 1) throw lost()
    }
    await withTransaction(pool, fn, NOW)
    expect(clients[0]?.emit('error', lost())).toBe(true)
    expect(pool.emit('error', lost())).toBe(true)
    expect(pool.listenerCount('error')).toBe(1)
  })

  it('leaves no listener on a released connection', async () => {
    const clients: FakeClient[] = []
    await withTransaction(new FakePool(), (client) => void clients.push(client))
    expect(clients[0]?.listenerCount('error')).toBe(0)
  })

  it('reports a rollback by the database after an ignored error', async () => {
    const pool = new FakePool((text) => (text === 'COMMIT' ? { command: 'ROLLBACK' } : undefined))
    await expect(withTransaction(pool, insert, NOW)).rejects.toThrow(
      'but its error was not thrown by the function',
    )
    expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 COMMIT', '1 ROLLBACK', '1 released'])
  })

  it('can share a breaker', async () => {
    const breaker = new CircuitBreaker({ id: 'db', failureThreshold: 1 })
    const options: TransactionOptions = { retry: false, breaker }
    const pool = new FakePool(failing('INSERT', pgError('57P03')))
    await expect(withTransaction(pool, insert, options)).rejects.toMatchObject({ code: '57P03' })
    await expect(withTransaction(pool, insert, options)).rejects.toMatchObject({ code: 'CIRCUIT_OPEN' })
  })

  it('calls the fallback', async () => {
    const pool = new FakePool(failing('INSERT', pgError('23505')))
    const fallback = (error: unknown, { context }: { context: unknown }) => [
      (error as { code: string }).code,
      context,
    ]
    expect(await withTransaction(pool, insert, { fallback, context: 'c' })).toEqual(['23505', 'c'])
  })

  it('treats an undefined option as absent', async () => {
    const pool = new FakePool(failing('INSERT', ...Array.from({ length: 9 }, () => pgError('40001'))))
    const retry = { maxAttempts: undefined, baseDelay: 0, jitterMax: 0, maxDelay: 0 }
    const attempts: number[] = []
    const failed = withTransaction(
      pool,
      (client, { number }) => {
        attempts.push(number)
        return insert(client)
      },
      { retry, timeout: { total: undefined } },
    )
    await expect(failed).rejects.toMatchObject({ code: '40001' })
    expect(attempts).toEqual([1, 2, 3, 4])
  })

  it('reports all problems of its options', async () => {
    const wrong = {
      isolation: 'snapshot; DROP TABLE users',
      readOnly: 1,
      retryUnknownCommit: 1,
      hedge: {},
      bulkhead: {},
    }
    const error = await failure(withTransaction(new FakePool(), insert, wrong as never))
    expect(error.code).toBe('INVALID_OPTIONS')
    expect(error.details?.map((text) => text.split(':')[0])).toEqual([
      'isolation',
      'readOnly',
      'retryUnknownCommit',
      'bulkhead',
      'hedge',
    ])
    await expect(withTransaction(new FakePool(), insert, { retries: 3 } as never)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

describe('a COMMIT', () => {
  it('that the database rejects is retried like any other statement', async () => {
    const pool = new FakePool(failing('COMMIT', pgError('40001')))
    await withTransaction(pool, insert, NOW)
    expect(pool.log.slice(0, 5)).toEqual(['1 BEGIN', '1 INSERT', '1 COMMIT', '1 ROLLBACK', '1 released'])
    expect(pool.log.at(-2)).toBe('2 COMMIT')
  })

  it('that violates a constraint is not retried', async () => {
    const pool = new FakePool(failing('COMMIT', pgError('23503')))
    await expect(withTransaction(pool, insert, NOW)).rejects.toMatchObject({ code: '23503' })
  })

  it('that was not sent is retried', async () => {
    const pool = new FakePool(failing('COMMIT', new Error('Client was closed and is not queryable')))
    await withTransaction(pool, insert, NOW)
    expect(pool.log.at(-2)).toBe('2 COMMIT')
  })

  const unanswered = [
    lost(),
    pgError('57P01'),
    pgError('08006'),
    pgError('ECONNRESET'),
    pgError('XX000'),
    new Error('?'),
  ]

  it.each(unanswered)('that is not answered (%s) is not retried', async (error) => {
    const pool = new FakePool(failing('COMMIT', error))
    const thrown = await failure(withTransaction(pool, insert, { ...NOW, name: 'orders' }))
    expect(thrown).toMatchObject({ code: 'COMMIT_UNKNOWN', details: [error.message] })
    expect(thrown.message).toMatch(/^orders may or may not have been committed/)
    expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 COMMIT', '1 closed'])
  })

  it('that is not answered is not retried by an enclosing guard either', async () => {
    const pool = new FakePool(failing('COMMIT', lost()))
    const outer = guard({
      retry: { backoffType: 'immediate', retryOn: ['SQLException', 'network_error', 'transient'] },
    })
    const thrown = await outer.run(() => withTransaction(pool, insert, NOW)).catch((e) => e)
    expect(classify(thrown).category).toBe('permanent')
    expect(pool.log.filter((line) => line.endsWith('COMMIT'))).toHaveLength(1)
  })

  it('that is not answered is retried with retryUnknownCommit', async () => {
    const pool = new FakePool(failing('COMMIT', lost()))
    await withTransaction(pool, insert, { ...NOW, retryUnknownCommit: true })
    expect(pool.log).toEqual([
      ...on(1, 'BEGIN INSERT COMMIT closed'),
      ...on(2, 'BEGIN INSERT COMMIT released'),
    ])
  })

  it.each([NOW.retry as object, false as const])(
    'during which a deadline passes is not answered: %o',
    async (retry) => {
      const clock = fakeClock()
      const pool = new FakePool((text) => (text === 'COMMIT' ? new Promise(() => {}) : undefined))
      const answer = withTransaction(pool, insert, { clock, retry, timeout: { attempt: 100 } }).catch(
        (e) => e,
      )
      await clock.advance(100)
      expect(await answer).toMatchObject({ code: 'COMMIT_UNKNOWN' })
      expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 COMMIT', '1 closed'])
    },
  )

  it('during which the total timeout passes ends with COMMIT_UNKNOWN', async () => {
    const clock = fakeClock()
    const pool = new FakePool((text) => (text === 'COMMIT' ? new Promise(() => {}) : undefined))
    const answer = withTransaction(pool, insert, { clock }).catch((e) => e)
    await clock.advance(30_000)
    expect(await answer).toMatchObject({ code: 'COMMIT_UNKNOWN' })
  })

  it('during which a deadline passes is retried with retryUnknownCommit', async () => {
    const clock = fakeClock()
    const pool = new FakePool((text, client) =>
      text === 'COMMIT' && client.id === 1 ? new Promise(() => {}) : undefined,
    )
    const options: TransactionOptions = { ...NOW, clock, retryUnknownCommit: true, timeout: { attempt: 100 } }
    const answer = withTransaction(pool, insert, options)
    await clock.advance(100)
    await answer
    expect(pool.log.at(-2)).toBe('2 COMMIT')
  })
})

describe('a deadline of a transaction', () => {
  it('closes the connection of its attempt, which never commits', async () => {
    const clock = fakeClock()
    let go = () => {}
    const pool = new FakePool((text, client) =>
      text === 'INSERT' && client.id === 1 ? new Promise<void>((resolve) => (go = resolve)) : undefined,
    )
    const answer = withTransaction(pool, insert, { ...NOW, clock, timeout: { attempt: 100 } })
    await clock.advance(100)
    await answer
    go()
    await clock.advance(0)
    expect(pool.log).toEqual([
      '1 BEGIN',
      '1 INSERT',
      '1 closed',
      '2 BEGIN',
      '2 INSERT',
      '2 COMMIT',
      '2 released',
    ])
  })

  const stuck: Reply = (text) => (text === 'INSERT' ? new Promise(() => {}) : undefined)
  const once = { retry: false as const, timeout: { total: 100 } }

  it('cancels the statement over another connection when the server process is known', async () => {
    const clock = fakeClock()
    const pool = new FakePool(stuck)
    pool.on('acquired', (client) => Object.assign(client, { processID: 4711 }))
    const ended = withTransaction(pool, insert, { ...once, clock }).catch((error: unknown) => error)
    await clock.advance(100)
    expect(await ended).toMatchObject({ code: 'TOTAL_TIMEOUT' })
    await clock.advance(0)
    expect(pool.log).toEqual([
      ...on(1, 'BEGIN INSERT closed'),
      expect.stringMatching(
        /^2 SELECT pg_cancel_backend\(pid\) FROM pg_stat_activity WHERE pid = 4711 AND .* - 100\) < 5000$/,
      ),
      '2 released',
    ])
  })

  it.each([
    ['the pool does not tell the process', {}, undefined],
    ['that is switched off', { cancel: false }, 4711],
  ])('cancels nothing when %s', async (_, more, processID) => {
    const clock = fakeClock()
    const pool = new FakePool(stuck)
    pool.on('acquired', (client) => Object.assign(client, { processID }))
    const ended = withTransaction(pool, insert, { ...once, ...more, clock }).catch((error: unknown) => error)
    await clock.advance(200)
    await ended
    expect(pool.log).toEqual(on(1, 'BEGIN INSERT closed'))
  })

  it('cancels by a function of the user', async () => {
    const clock = fakeClock()
    const pool = new FakePool(stuck)
    const cancelled: unknown[] = []
    const cancel = (client: unknown) => void cancelled.push(client)
    const ended = withTransaction(pool, insert, { ...once, cancel, clock }).catch((error: unknown) => error)
    await clock.advance(200)
    await ended
    expect(cancelled).toEqual(pool.clients)
  })

  it('does not fail because of a statement that cannot be cancelled', async () => {
    const clock = fakeClock()
    const pool = new FakePool((text, client) => {
      if (text.includes('pg_cancel_backend')) throw lost()
      return stuck(text, client)
    })
    pool.on('acquired', (client) => Object.assign(client, { processID: 4711 }))
    const ended = withTransaction(pool, insert, { ...once, clock }).catch((error: unknown) => error)
    await clock.advance(200)
    expect(await ended).toMatchObject({ code: 'TOTAL_TIMEOUT' })
    await clock.advance(0)
    expect(pool.log.at(-1)).toBe('2 closed')
  })

  it('releases a connection that arrives too late', async () => {
    const clock = fakeClock()
    let go = () => {}
    const pool = new FakePool(() => new Promise<void>((resolve) => (go = resolve)))
    const answer = withTransaction(pool, insert, { clock, retry: false, timeout: { attempt: 100 } }).catch(
      (e) => e,
    )
    await clock.advance(100)
    expect(await answer).toMatchObject({ code: 'ATTEMPT_TIMEOUT' })
    go()
    await clock.advance(0)
    expect(pool.log).toEqual(['1 released'])
  })
})

describe('an abort of a transaction', () => {
  it('ends the call at once with its reason, and closes the connection', async () => {
    const controller = new AbortController()
    const pool = new FakePool((text) => (text === 'INSERT' ? new Promise(() => {}) : undefined))
    const answer = withTransaction(pool, insert, { signal: controller.signal }).catch((e) => e)
    await new Promise((resolve) => setImmediate(resolve))
    controller.abort('enough')
    expect(await answer).toBe('enough')
    expect(pool.log).toEqual(['1 BEGIN', '1 INSERT', '1 closed'])
  })

  it('before the call acquires no connection', async () => {
    const pool = new FakePool()
    await expect(withTransaction(pool, insert, { signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(pool.log).toEqual([])
  })
})

describe('a transaction with random faults', () => {
  const faults = ['none', 'deadlock', 'lost', 'constraint', 'full'] as const
  const statements = ['connect', 'BEGIN', 'INSERT 1', 'INSERT 2', 'COMMIT', 'ROLLBACK'] as const

  it('writes all rows once or none, and releases every connection', async () => {
    const fault = fc.record({
      at: fc.constantFrom(...statements),
      what: fc.constantFrom(...faults),
      after: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { maxLength: 6 }), async (planned) => {
        const rows: string[] = []
        const open = new Map<FakeClient, string[]>()
        const pool: FakePool = new FakePool((text, client) => {
          const next = planned[0]
          const hit = next?.at === text ? planned.shift() : undefined
          const fail = () => {
            if (hit === undefined || hit.what === 'none') return
            if (hit.what === 'lost' && client !== undefined) client.emit('error', lost())
            const codes = { deadlock: '40P01', lost: 'ECONNRESET', constraint: '23505', full: '53300' }
            throw pgError(codes[hit.what])
          }
          // A statement that the server rejects has no effect; a lost connection can hide one that had an effect.
          if (!(hit?.what === 'lost' && hit.after)) fail()
          if (text === 'BEGIN') open.set(client, [])
          else if (text === 'COMMIT') rows.push(...(open.get(client) ?? []))
          else if (text.startsWith('INSERT')) open.get(client)?.push(text)
          fail()
        })
        const result = await withTransaction(
          pool,
          async (client) => {
            await client.query('INSERT 1')
            await client.query('INSERT 2')
          },
          NOW,
        ).then(
          () => 'done',
          (error) => error.code as string,
        )
        expect(pool.held.size).toBe(0)
        if (result === 'done') expect(rows).toEqual(['INSERT 1', 'INSERT 2'])
        else if (result !== 'COMMIT_UNKNOWN') expect(rows).toEqual([])
        else expect(rows.length % 2).toBe(0)
        expect(rows.length).toBeLessThanOrEqual(2)
      }),
      { numRuns: 500 },
    )
  })
})
