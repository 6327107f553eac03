import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openSqliteDriver, type SqliteDriver } from '../../src/sqlite/driver.js'
import { at, errorRecord, event, letter, session, storedBreaker } from '../contract/records.js'
import { folder, opened } from '../sqlite-place.js'

/** The number of the newest records that are never compressed, and a larger number. */
const UNCOMPRESSED = 10_000
const MANY = UNCOMPRESSED + 1000

/** The number of records in a row. */
const ROW = 64

async function storeWith(count: number) {
  const file = join(await folder(), 'holdfast.db')
  const store = await opened(file)
  const driver = await openSqliteDriver(file)
  onTestFinished(() => driver.close())
  const spy = vi.spyOn(console, 'error').mockImplementation(() => {})
  onTestFinished(() => spy.mockRestore())
  await store.events.append(Array.from({ length: count }, (_, n) => event(n)))
  await store.events.count()
  return { store, driver }
}

async function countReadable(store: Awaited<ReturnType<typeof opened>>): Promise<number> {
  let count = 0
  for (let cursor: string | undefined; ; ) {
    const page = await store.events.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) })
    count += page.items.length
    if (page.cursor === undefined) return count
    cursor = page.cursor
  }
}

/** How many rows up to a number are not compressed. */
const countUncompressed = (driver: SqliteDriver, last: number): unknown =>
  driver.prepare(`SELECT count(*) AS n FROM events WHERE typeof(body) = 'text' AND last <= ${last}`).get([])
    ?.n

describe('a damaged row of a SQLite store', () => {
  it('is not compressed together with other rows, which stay readable', async () => {
    const { store, driver } = await storeWith(MANY)
    driver.exec(`UPDATE events SET body = substr(body, 1, 50) WHERE last = ${2 * ROW}`)
    await store.events.expire({})
    const { n } = driver.prepare("SELECT count(*) AS n FROM events WHERE typeof(body) = 'blob'").get([]) ?? {}
    expect(Number(n)).toBeGreaterThan(2)
    expect(await countReadable(store)).toBe(MANY - ROW)
  })

  // The compression read the same rows again without end.
  it('does not stop compression if the number of its first record is wrong', async () => {
    const { store, driver } = await storeWith(MANY)
    driver.exec(`UPDATE events SET first = ${7 * ROW - 10} WHERE last = ${8 * ROW}`)
    await store.events.expire({})
    expect(countUncompressed(driver, 12 * ROW)).toBe(0)
  })

  // libsql ends the process on such a text.
  it.skipIf(typeof process.getBuiltinModule?.('node:sqlite') === 'undefined')(
    'does not stop compression if it has bytes that are not UTF-8',
    async () => {
      const { store, driver } = await storeWith(MANY)
      driver.exec(`UPDATE events SET body = CAST(x'5b80' AS TEXT) WHERE last = ${8 * ROW}`)
      await store.events.expire({})
      expect(countUncompressed(driver, 12 * ROW)).toBe(0)
      expect(await countReadable(store)).toBe(MANY - ROW)
    },
  )

  it.each([
    ['is not JSON', 'substr(body, 1, 50)'],
    ['has no records', "'[[1]]'"],
  ])('does not stop retention if it %s', async (_, body) => {
    const { store, driver } = await storeWith(4 * ROW)
    driver.exec(`UPDATE events SET body = ${body} WHERE last = ${2 * ROW}`)
    expect(await store.events.expire({ maxEntries: 2 * ROW + 1 })).toBe(ROW)
    expect(await store.events.expire({ before: at(ROW + 1) })).toBe(0)
    await store.events.expire({ before: at(3 * ROW) })
    expect(await store.events.count()).toBe(ROW)
  })

  it('does not prevent the other breakers from being restored', async () => {
    const { store, driver } = await storeWith(0)
    await store.breakers.save([storedBreaker('policy:a'), storedBreaker('policy:b')])
    driver.exec("UPDATE circuit_breaker_states SET window_json = '[' WHERE id = 'policy:a'")
    expect((await store.breakers.load()).map(({ snapshot }) => snapshot.id)).toEqual(['policy:b'])
  })
})

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }
const SECRET = 'hunter2'

/** A store, a connection of its own to the file, and the lines on stderr. */
async function emptyStore() {
  const file = join(await folder(), 'holdfast.db')
  const store = await opened(file)
  const driver = await openSqliteDriver(file)
  onTestFinished(() => driver.close())
  const lines: string[] = []
  const spy = vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(String(line)))
  onTestFinished(() => spy.mockRestore())
  return { store, driver, lines }
}

describe('a damaged row of a SQLite store is skipped and reported without its text', () => {
  it('as a version of the live changes, so that the version before it applies', async () => {
    const { store, driver, lines } = await emptyStore()
    const append = (version: number) =>
      store.layers.append({ version, by: 'me', at: at(version), layer: { version } }, version - 1)
    await append(1)
    await append(2)
    await append(3)
    driver.exec(`UPDATE config_layers SET layer = '${SECRET}' WHERE version >= 2`)
    expect(await store.layers.latest()).toMatchObject({ version: 1, layer: { version: 1 } })
    expect(await store.layers.history()).toMatchObject([{ version: 1 }])
    expect(store.damaged).toBe(true)
    expect(lines).toEqual([
      expect.stringContaining('the row 3 of config_layers is damaged'),
      expect.stringContaining('the row 2 of config_layers is damaged'),
    ])
    expect(await append(3)).toBe(false)
    expect(await append(2)).toBe(true)
    expect(await store.layers.latest()).toMatchObject({ version: 2, layer: { version: 2 } })
    expect(await append(3)).toBe(true)
    expect(await store.layers.history()).toMatchObject([{ version: 3 }, { version: 2 }, { version: 1 }])
    expect(lines.join()).not.toContain(SECRET)
  })

  it('as a version of the live changes whose time is not valid', async () => {
    const { store, driver } = await emptyStore()
    await store.layers.append({ version: 1, by: 'me', at: at(1), layer: {} }, 0)
    driver.exec("UPDATE config_layers SET at = 'x'")
    expect(await store.layers.latest()).toBeUndefined()
    expect(store.damaged).toBe(true)
  })

  it('as a named value', async () => {
    const { store, driver, lines } = await emptyStore()
    await store.values.set('a', 1)
    await store.values.set('b', 2)
    driver.exec(`UPDATE named_values SET value = '${SECRET}' WHERE key = 'a'`)
    expect(await store.values.get('a')).toBeUndefined()
    expect(await store.values.list('')).toEqual([{ key: 'b', value: 2 }])
    expect(store.damaged).toBe(true)
    expect(lines).toEqual([expect.stringContaining('the row "a" of named_values is damaged')])
    await store.values.set('a', 3)
    expect(await store.values.get('a')).toBe(3)
  })

  it('as a breaker or a row of metrics', async () => {
    const { store, driver, lines } = await emptyStore()
    await store.breakers.save([storedBreaker('policy:a')])
    await store.metrics.save([{ series: 'minute:total', start: 60, node: 'n', data: {} }])
    driver.exec(`UPDATE circuit_breaker_states SET window_json = '${SECRET}'`)
    driver.exec(`UPDATE metrics SET data = '${SECRET}'`)
    expect(await store.breakers.load()).toEqual([])
    expect(await store.metrics.load({ from: 0, to: 100 })).toEqual([])
    expect(lines).toEqual([
      expect.stringContaining('the row "policy:a" of circuit_breaker_states is damaged'),
      expect.stringContaining('the row "minute:total 60" of metrics is damaged'),
    ])
  })

  it.each(['[[1]]', '[1]', '[[{}]]', '[["x"]]', '1', 'null'])('as records that are %s', async (body) => {
    const { store, driver, lines } = await emptyStore()
    await store.errors.append([errorRecord(1)])
    await store.errors.count()
    await store.errors.append([errorRecord(2)])
    await store.errors.count()
    driver.exec(`UPDATE errors SET body = '${body}' WHERE last = 1`)
    expect((await store.errors.list()).items).toEqual([errorRecord(2)])
    expect((await store.errors.list({ operation: 'none' })).items).toEqual([])
    expect(lines).toEqual([expect.stringContaining('the row 1 of errors is damaged')])
  })

  it('as a session that is read by its id', async () => {
    const { store, driver } = await emptyStore()
    await store.sessions.append([session(1)])
    await store.sessions.count()
    driver.exec("UPDATE sessions SET body = '[[1]]'")
    expect(await store.sessions.get(session(1).sessionId)).toBeUndefined()
    expect(store.damaged).toBe(true)
  })

  it.each(['{}', '[]', 'null', '{"dlq_id":"dlq_1"}'])('as a dead letter that is %s', async (entry) => {
    const { store, driver, lines } = await emptyStore()
    await store.deadLetters.add([letter(1), letter(2)], NO_LIMIT)
    driver.exec(`UPDATE dead_letters SET entry = '${entry}' WHERE dlq_id = 'dlq_1'`)
    const { items } = await store.deadLetters.list({}, at(9))
    expect(items.map(({ dlqId }) => dlqId)).toEqual(['dlq_2'])
    expect(await store.deadLetters.get('dlq_1', at(9))).toBeUndefined()
    expect(lines).toEqual([expect.stringContaining('the row 1 of dead_letters is damaged')])
  })

  it('as a dead letter whose idempotency key is added again together with others', async () => {
    const { store, driver, lines } = await emptyStore()
    const { deadLetters } = store
    await deadLetters.add([letter(1, { idempotencyKey: 'k' })], NO_LIMIT)
    driver.exec(`UPDATE dead_letters SET entry = '${SECRET}'`)
    const added = await Promise.all([
      deadLetters.add([letter(2)], NO_LIMIT),
      deadLetters.add([letter(3, { idempotencyKey: 'k' })], NO_LIMIT),
    ])
    expect(added.flat().map(({ result }) => result)).toEqual(['added', 'added'])
    expect(await deadLetters.add([letter(4, { idempotencyKey: 'k' })], NO_LIMIT)).toMatchObject([
      { entry: { dlqId: 'dlq_3' } },
    ])
    const { items } = await deadLetters.list(undefined, at(9))
    expect(items.map(({ dlqId }) => dlqId)).toEqual(['dlq_2', 'dlq_3'])
    expect(lines).toEqual([expect.stringContaining('the row 1 of dead_letters is damaged')])
  })

  it('as a dead letter whose id is added again, which replaces it', async () => {
    const { store, driver } = await emptyStore()
    const { deadLetters } = store
    await deadLetters.add([letter(1)], NO_LIMIT)
    driver.exec(`UPDATE dead_letters SET original_payload = '${SECRET}'`)
    expect(await deadLetters.get('dlq_1', at(9))).toBeUndefined()
    expect(await deadLetters.add([letter(1)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await deadLetters.get('dlq_1', at(9))).toMatchObject({ dlqId: 'dlq_1' })
    expect((await deadLetters.stats(at(9))).total).toBe(1)
  })

  it.each(['lease', 'leaseNext'] as const)('as a dead letter that %s would lease', async (method) => {
    const { store, driver, lines } = await emptyStore()
    const { deadLetters } = store
    await deadLetters.add([letter(1), letter(2)], NO_LIMIT)
    driver.exec(`UPDATE dead_letters SET entry = '${SECRET}' WHERE dlq_id = 'dlq_1'`)
    if (method === 'lease')
      expect(await deadLetters.lease('dlq_1', 'me', at(90), at(9))).toEqual({ result: 'missing' })
    else
      expect(
        await deadLetters.leaseNext({ statuses: ['pending'], limit: 2 }, 'me', at(90), at(9)),
      ).toMatchObject([{ dlqId: 'dlq_2' }])
    expect(lines).toEqual([expect.stringContaining('the row 1 of dead_letters is damaged')])
  })
})

describe('a damaged index column of a SQLite store', () => {
  it.each([
    ['session_ids', SECRET],
    ['operations', SECRET],
    ['operations', '1'],
    ['oldest', SECRET],
    ['newest', SECRET],
    ['entries', SECRET],
    ['first', SECRET],
  ])('does not stop retention and compression if %s is %s', async (column, value) => {
    const { store, driver } = await emptyStore()
    await store.sessions.append(Array.from({ length: MANY }, (_, n) => session(n)))
    await store.sessions.count()
    driver.exec(`UPDATE sessions SET ${column} = '${value}' WHERE last = ${2 * ROW}`)
    await store.sessions.expire({})
    const { n } =
      driver.prepare("SELECT count(*) AS n FROM sessions WHERE typeof(body) = 'blob'").get([]) ?? {}
    expect(Number(n)).toBeGreaterThan(2)
    await store.sessions.expire({ maxEntries: 5 * ROW })
    const { rows, ids } =
      driver
        .prepare('SELECT (SELECT count(*) FROM sessions) AS rows, (SELECT count(*) FROM session_ids) AS ids')
        .get([]) ?? {}
    // The records are not a multiple of a row, so that two rows are not complete.
    expect({ rows, ids }).toEqual({ rows: 6, ids: 5 * ROW })
  })
})
