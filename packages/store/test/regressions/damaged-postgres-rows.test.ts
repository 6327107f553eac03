import { join } from 'node:path'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadPostgresDriver } from '../../src/postgres/driver.js'
import { openPostgres } from '../../src/postgres/index.js'
import { at, errorRecord, letter, session, storedBreaker } from '../contract/records.js'
import { tempFolder } from '../place.js'
import { LONG_TIMEOUTS, PostgresServer } from '../postgres-server.js'

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }
const SECRET = 'hunter2'

const server = await PostgresServer.start()
afterAll(() => server.remove())

let schemas = 0

/** A store in a schema of its own, a function that executes SQL there, and the warnings of the store. */
async function emptyStore() {
  const schema = `damaged_${schemas++}`
  const lines: string[] = []
  const store = openPostgres(server.url, {
    schema,
    spillDir: join(await tempFolder(), 'spill'),
    ...LONG_TIMEOUTS,
    warn: (line) => void lines.push(line),
  })
  await store.open()
  const { Pool } = await loadPostgresDriver()
  const pool = new Pool({ connectionString: server.url, max: 1 } as ConstructorParameters<typeof Pool>[0])
  pool.on('error', () => {})
  onTestFinished(async () => {
    await store.close()
    await pool.end()
  })
  const execute = async (sql: string): Promise<void> => {
    const client = await pool.connect()
    await client.query(`SET search_path = ${schema}`)
    await client.query(sql)
    client.release()
  }
  return { store, execute, lines }
}

describe('a damaged row of a PostgreSQL store is skipped and reported without its text', () => {
  it.each([SECRET, '[[1]]', '{}', '1', 'null', `{"session_id":"${SECRET}"}`])(
    'as a record that is %s',
    async (body) => {
      const { store, execute, lines } = await emptyStore()
      await store.errors.append([errorRecord(1), errorRecord(2), errorRecord(3)])
      await execute(`UPDATE errors SET body = '${body}' WHERE seq = 2`)
      expect((await store.errors.list()).items).toEqual([errorRecord(3), errorRecord(1)])
      expect((await store.errors.list({ order: 'oldest', limit: 2 })).items).toEqual([
        errorRecord(1),
        errorRecord(3),
      ])
      expect(lines).toEqual([expect.stringContaining('the row 2 of errors is damaged')])
      expect(lines.join()).not.toContain(SECRET)
      expect(store.damaged).toBe(true)
    },
  )

  it('as a session that is read by its id', async () => {
    const { store, execute } = await emptyStore()
    await store.sessions.append([session(1)])
    expect(store.damaged).toBe(false)
    await execute("UPDATE sessions SET body = '[[1]]'")
    expect(await store.sessions.get(session(1).sessionId)).toBeUndefined()
    expect(store.damaged).toBe(true)
  })

  it('as a breaker, a row of metrics or a named value', async () => {
    const { store, execute, lines } = await emptyStore()
    await store.breakers.save([storedBreaker('policy:a'), storedBreaker('policy:b')])
    await store.metrics.save(
      [60, 61].map((start) => ({ series: 'minute:total', start, node: 'n', data: {} })),
    )
    await store.values.set('a', 1)
    await store.values.set('b', 2)
    await execute(`UPDATE circuit_breaker_states SET body = '${SECRET}' WHERE id = 'policy:a'`)
    await execute(`UPDATE metrics SET data = '${SECRET}' WHERE start = 60`)
    await execute(`UPDATE named_values SET value = '${SECRET}' WHERE key = 'a'`)
    expect((await store.breakers.load()).map(({ snapshot }) => snapshot.id)).toEqual(['policy:b'])
    expect((await store.metrics.load({ from: 0, to: 100 })).map(({ start }) => start)).toEqual([61])
    expect(await store.values.get('a')).toBeUndefined()
    expect(await store.values.list('')).toEqual([{ key: 'b', value: 2 }])
    expect(lines).toEqual([
      expect.stringContaining('the row "policy:a" of circuit_breaker_states is damaged'),
      expect.stringContaining('the row "minute:total 60" of metrics is damaged'),
      expect.stringContaining('the row "a" of named_values is damaged'),
    ])
    expect(lines.join()).not.toContain(SECRET)
    await store.values.set('a', 3)
    expect(await store.values.get('a')).toBe(3)
  })

  it('as a breaker that is valid JSON without its fields', async () => {
    const { store, execute, lines } = await emptyStore()
    await store.breakers.save([storedBreaker('policy:a')])
    await execute("UPDATE circuit_breaker_states SET body = '{}'")
    expect(await store.breakers.load()).toEqual([])
    expect(lines).toEqual([
      expect.stringContaining('the row "policy:a" of circuit_breaker_states is damaged'),
    ])
  })

  it('as a version of the live changes, so that the version before it applies', async () => {
    const { store, execute, lines } = await emptyStore()
    const append = (version: number) =>
      store.layers.append({ version, by: 'me', at: at(version), layer: { version } }, version - 1)
    for (const version of [1, 2, 3]) await append(version)
    await execute(`UPDATE config_layers SET layer = '${SECRET}' WHERE version >= 2`)
    expect(await store.layers.latest()).toMatchObject({ version: 1, layer: { version: 1 } })
    expect(await store.layers.history()).toMatchObject([{ version: 1 }])
    expect(lines).toEqual([
      expect.stringContaining('the row 3 of config_layers is damaged'),
      expect.stringContaining('the row 2 of config_layers is damaged'),
    ])
    expect(await append(3)).toBe(false)
    const both = await Promise.all([append(2), append(2)])
    expect(both.toSorted()).toEqual([false, true])
    expect(await store.layers.latest()).toMatchObject({ version: 2, layer: { version: 2 } })
    expect(await append(3)).toBe(true)
    expect(await store.layers.history()).toMatchObject([{ version: 3 }, { version: 2 }, { version: 1 }])
    expect(lines.join()).not.toContain(SECRET)
  })

  it.each([SECRET, '{}', '[]', 'null'])('as a dead letter whose fields are %s', async (rest) => {
    const { store, execute, lines } = await emptyStore()
    const { deadLetters } = store
    await deadLetters.add([letter(1), letter(2)], NO_LIMIT)
    await execute(`UPDATE dead_letters SET rest = '${rest}' WHERE dlq_id = 'dlq_1'`)
    expect(await deadLetters.get('dlq_1', at(9))).toBeUndefined()
    expect((await deadLetters.list({}, at(9))).items.map(({ dlqId }) => dlqId)).toEqual(['dlq_2'])
    expect(await deadLetters.lease('dlq_1', 'me', at(90), at(9))).toEqual({ result: 'missing' })
    expect(lines).toEqual([expect.stringContaining('the row "dlq_1" of dead_letters is damaged')])
  })

  it('as a dead letter whose idempotency key is added again, which is kept on the disk', async () => {
    const { store, execute, lines } = await emptyStore()
    const { deadLetters } = store
    await deadLetters.add([letter(1, { idempotencyKey: 'k' })], NO_LIMIT)
    await execute(`UPDATE dead_letters SET rest = '${SECRET}'`)
    const added = await Promise.all([
      deadLetters.add([letter(2)], NO_LIMIT),
      deadLetters.add([letter(3, { idempotencyKey: 'k' })], NO_LIMIT),
    ])
    expect(added.flat().map(({ result }) => result)).toEqual(['added', 'added'])
    expect(await deadLetters.get('dlq_3', at(9))).toMatchObject({ dlqId: 'dlq_3' })
    expect((await deadLetters.list({}, at(9))).items.map(({ dlqId }) => dlqId)).toContain('dlq_2')
    expect(lines.join('\n')).toContain('the row "dlq_1" of dead_letters is damaged')
    expect(lines.join()).not.toContain(SECRET)
  })
})
