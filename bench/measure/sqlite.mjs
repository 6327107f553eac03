// The store is not part of the public API, so its sources are measured.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { letter, random, START, withThreadSources } from './sources.mjs'

/**
 * @typedef {typeof import('../../packages/store/src/sqlite/index.js')} Index
 * @typedef {typeof import('../../packages/store/src/sqlite/driver.js')} Drivers
 * @typedef {ReturnType<Index['openSqlite']>} Store
 * @typedef {Awaited<ReturnType<Drivers['openSqliteDriver']>>} Driver
 * @typedef {import('../../packages/records/src/dead-letter.js').DeadLetter} DeadLetter
 */

const SOURCES = `export { openSqlite } from './packages/store/src/sqlite/index.ts'
  export { openSqliteDriver } from './packages/store/src/sqlite/driver.ts'`

/**
 * @template T
 * @param {(store: Store, driver: (file: string) => Promise<Driver>, dir: string) => Promise<T>} work
 */
const withStore = (work) =>
  withThreadSources(
    'sqlite',
    SOURCES,
    async (/** @type {Index & Drivers} */ { openSqlite, openSqliteDriver }) => {
      const dir = await mkdtemp(join(tmpdir(), 'holdfast-bench-'))
      const store = openSqlite(join(dir, 'store.db'))
      await store.open()
      try {
        return await work(store, openSqliteDriver, dir)
      } finally {
        await store.close()
        await rm(dir, { recursive: true })
      }
    },
  )

/** How many are added at a time, in how many rounds, after how many to warm up. */
const TOGETHER = 1000
const ROUNDS = 30
const WARM_UP = 6

/**
 * Adds as many callers do at once, and what the driver does with the same entries in one transaction, in turns. Both
 * begin with records, so both write JSON.
 *
 * @returns {Promise<{ ratio: number[], perEntry: number[] }>}
 */
export const adds = () =>
  withStore(async (store, openDriver, dir) => {
    const raw = await openDriver(join(dir, 'raw.db'))
    raw.exec('PRAGMA journal_mode = WAL')
    raw.exec('PRAGMA synchronous = FULL')
    raw.exec('CREATE TABLE letters (id TEXT PRIMARY KEY, entry TEXT NOT NULL)')
    const insert = raw.prepare('INSERT INTO letters VALUES (?, ?)')
    const bare = (/** @type {DeadLetter[]} */ letters) => {
      const start = performance.now()
      raw.exec('BEGIN IMMEDIATE')
      for (const each of letters) insert.run([each.dlqId, JSON.stringify(each)])
      raw.exec('COMMIT')
      return performance.now() - start
    }
    const ours = async (/** @type {DeadLetter[]} */ letters) => {
      const start = performance.now()
      await Promise.all(letters.map((each) => store.deadLetters.add([each], { maxEntries: 1e9 })))
      return performance.now() - start
    }
    /** @type {{ ratio: number[], perEntry: number[] }} */
    const samples = { ratio: [], perEntry: [] }
    for (let round = 0; round < WARM_UP + ROUNDS; round++) {
      const letters = Array.from({ length: TOGETHER }, (_, i) => letter(round * TOGETHER + i))
      const before = round % 2 === 0 ? bare(letters) : undefined
      const took = await ours(letters)
      const rawTook = before ?? bare(letters)
      if (round < WARM_UP) continue
      samples.ratio.push(took / rawTook)
      samples.perEntry.push((took * 1e6) / TOGETHER)
    }
    raw.close()
    return samples
  })

const MILLION = 1_000_000

/** A million entries made by SQLite itself: of ten operations, a tenth of each failed, a tenth completed. */
const FILL = `
  INSERT INTO dead_letters (dlq_id, idempotency_key, key_hash, operation_type, item_id, status, created_at, entry, original_payload)
    WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${MILLION - 1})
    SELECT 'dlq_' || n, 'key_' || n, n, 'operation_' || (n % 10), 'item' || n,
      CASE n / 10 % 10 WHEN 0 THEN 'failed' WHEN 1 THEN 'completed' ELSE 'pending' END, ${START} + n,
      replace(replace(replace($entry, '{n}', n), '{operation}', 'operation_' || (n % 10)), '{status}',
        CASE n / 10 % 10 WHEN 0 THEN 'failed' WHEN 1 THEN 'completed' ELSE 'pending' END),
      '{"id":' || n || '}'
    FROM numbers;
  INSERT INTO dead_letter_counts SELECT operation_type, status, count(*) FROM dead_letters GROUP BY 1, 2;`

const ENTRY = JSON.stringify({
  schema: '1.1',
  dlq_id: 'dlq_{n}',
  item_id: 'item{n}',
  operation_type: '{operation}',
  status: '{status}',
  error_details: {
    error_type: 'Error',
    error_message: 'the service is down',
    stack_trace: 'x'.repeat(200),
    retry_count: 2,
  },
  created_at: '2026-01-01T00:00:00.000Z',
  last_attempt: '2026-01-01T00:00:00.000Z',
  processed: false,
  idempotency_key: 'key_{n}',
  policy_id: 'default',
})

/** Milliseconds that this process had the processor since then. @param {NodeJS.CpuUsage} before */
function processorTime(before) {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Lists 100 of a million, in milliseconds of the processor's time. @returns {Promise<Record<string, number[]>>} */
export const lists = () =>
  withStore(async (store, openDriver, dir) => {
    const driver = await openDriver(join(dir, 'store.db'))
    driver.exec(FILL.replace('$entry', `'${ENTRY}'`))
    driver.close()
    const now = new Date(START + MILLION)
    const middle = new Date(START + MILLION / 2)
    const some = /** @type {const} */ ({ operation: 'operation_3', status: 'pending' })
    /** @type {Record<string, import('../../packages/store/src/store.js').DeadLetterFilter>} */
    const filters = {
      age: { ...some, from: middle },
      oldest: some,
      failed: { status: 'failed', to: middle, order: 'newest' },
      any: {},
    }
    /** @type {Record<string, number[]>} */
    const samples = {}
    for (const [name, filter] of Object.entries(filters)) {
      const times = []
      let next = filter
      for (let i = 0; i < 60; i++) {
        const before = process.cpuUsage()
        const { items, cursor } = await store.deadLetters.list(next, now)
        times.push(processorTime(before))
        if (items.length !== 100 || cursor === undefined) throw new Error(`${name} listed ${items.length}`)
        next = { ...filter, cursor }
      }
      samples[name] = times.slice(10)
    }
    const times = []
    for (let i = 0; i < 30; i++) {
      const before = process.cpuUsage()
      const { total } = await store.deadLetters.stats(now)
      times.push(processorTime(before))
      if (total !== MILLION) throw new Error(`there are ${total}`)
    }
    samples.stats = times.slice(5)
    return samples
  })

/** The records of a call that failed after so many attempts. @param {number} n @param {number} attempts */
function recordsOf(n, attempts) {
  const time = new Date(START + n)
  const error = { type: 'Error', message: 'the service is down' }
  const numbers = Array.from({ length: attempts }, (_, i) => i + 1)
  const sessionId = `default_${START + n}_${n}`
  const correlationId = random()
  /** @type {import('../../packages/records/src/session.js').RetrySession} */
  const session = {
    schema: '1.1',
    sessionId,
    policyId: 'default',
    policyIds: ['default'],
    operation: 'mail.fetch',
    subsystem: 'mail',
    correlationId,
    startTime: time,
    endTime: time,
    attempts: numbers.map((number) => ({
      attemptNumber: number,
      timestamp: time,
      delay: 100,
      success: false,
      outcome: 'failure',
      duration: 12,
      error,
    })),
    finalError: error,
    success: false,
    stopped: 'attempts_spent',
    totalAttempts: attempts,
    totalDuration: 300,
    retryCount: attempts - 1,
  }
  /** @type {import('../../packages/records/src/session.js').RetryEvent[]} */
  const events = numbers.map((number) => ({
    // Written out, as the runtime does it: V8 makes slow objects of what is spread.
    sessionId,
    policyId: 'default',
    operation: 'mail.fetch',
    schema: '1.1',
    eventId: `evt_${START + n}_${random()}`,
    eventType: number === attempts ? 'retry_failure' : 'retry_attempt',
    timestamp: time,
    correlationId,
    attempt: number,
    maxAttempts: attempts,
    delay: 100,
    error,
    component: 'retry_manager',
  }))
  /** @type {import('../../packages/records/src/errors.js').ErrorRecord[]} */
  const errors = numbers.map((number) => ({
    schema: '1.1',
    timestamp: time,
    severity: number === attempts ? 'ERROR' : 'WARNING',
    category: 'TRANSIENT',
    message: error.message,
    errorType: error.type,
    context: { operation: 'mail.fetch' },
    retryCount: number - 1,
    kind: 'unknown',
    sessionId,
  }))
  return { session, events, errors }
}

const CALLS = 2000

/**
 * What the records of a failed call cost to keep, in nanoseconds of the processor's time. There are a few calls in each
 * turn of the event loop.
 *
 * @param {number} attempts
 * @returns {Promise<number[]>}
 */
export const records = (attempts) =>
  withStore(async (store) => {
    const samples = []
    for (let round = 0; round < 16; round++) {
      const calls = Array.from({ length: CALLS }, (_, i) => recordsOf(round * CALLS + i, attempts))
      const before = process.cpuUsage()
      /** @type {Promise<void>[]} */
      const kept = []
      for (const [i, { session, events, errors }] of calls.entries()) {
        for (const each of events) kept.push(store.events.append([each]))
        for (const each of errors) kept.push(store.errors.append([each]))
        kept.push(store.sessions.append([session]))
        if (i % 8 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await Promise.all(kept)
      const took = processorTime(before)
      if (round >= 4) samples.push((took * 1e6) / CALLS)
    }
    return samples
  })
