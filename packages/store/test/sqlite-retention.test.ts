import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventCodec, type RetryEvent, sessionCodec } from '../../records/src/session.js'
import type { Journal } from '../src/journals.js'
import { openSqliteDriver } from '../src/sqlite/driver.js'
import { MIGRATIONS } from '../src/sqlite/statements/schema.js'
import { at, event, letter, session } from './contract/records.js'
import { folder, opened } from './sqlite-place.js'

/** The number of the newest records that are never compressed, and a much larger number. */
const YOUNG = 10_000
const MANY = YOUNG + 2000

const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => event(from + i))

async function everything(
  journal: Journal<RetryEvent, { limit?: number; cursor?: string; order?: 'oldest' }>,
) {
  const items: RetryEvent[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await journal.list({
      limit: 999,
      order: 'oldest',
      ...(cursor === undefined ? {} : { cursor }),
    })
    items.push(...page.items)
    if (page.cursor === undefined) return items
    cursor = page.cursor
  }
}

describe('old records in a SQLite store', () => {
  it('are compressed when the journal expires records, and can be read', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    const driver = await openSqliteDriver(file)
    onTestFinished(() => driver.close())
    const held = (table: string, type: string) =>
      driver
        .prepare(`SELECT count(*) AS n, sum(length(body)) AS size FROM ${table} WHERE typeof(body) = ?`)
        .get([type])
    await store.events.append(numbered(0, MANY))
    await store.sessions.append(Array.from({ length: MANY }, (_, n) => session(n)))
    const before = Number(held('events', 'text')?.size)
    expect(await store.events.expire({ maxEntries: MANY })).toBe(0)
    expect(await store.sessions.expire({})).toBe(0)

    const { n, size } = held('events', 'blob') ?? {}
    expect(Number(n)).toBeGreaterThan(5)
    expect(Number(n)).toBeLessThan(10)
    expect(Number(size) * 4).toBeLessThan(before * (2000 / MANY))
    expect(await store.events.count()).toBe(MANY)
    expect(await everything(store.events)).toEqual(numbered(0, MANY))
    expect(await store.sessions.get(session(3).sessionId)).toEqual(session(3))
    expect((await store.sessions.list({ correlationId: 'c700' })).items).toEqual([session(700)])
  })

  it('are deleted together with the records that were compressed with them', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    const driver = await openSqliteDriver(file)
    onTestFinished(() => driver.close())
    await store.events.append(numbered(0, MANY))
    await store.events.expire({})
    expect(await store.events.expire({ before: at(300) })).toBe(300)
    expect((await everything(store.events)).slice(0, 2)).toEqual(numbered(300, 302))
    expect(await store.events.expire({ maxEntries: 50 })).toBe(MANY - 350)
    expect(await everything(store.events)).toEqual(numbered(MANY - 50, MANY))
    const left = driver.prepare('SELECT count(*) AS n, min(first) AS first FROM events').get([])
    expect(Number(left?.n)).toBeLessThanOrEqual(3)
    expect(await store.events.expire({ maxEntries: 0 })).toBe(50)
    expect(driver.prepare('SELECT count(*) AS n FROM events').get([])?.n).toBe(0)
    await store.events.append([event(1)])
    expect(await everything(store.events)).toEqual([event(1)])
  })
})

describe('a write to a SQLite store', () => {
  it('is visible to a read in the same turn', async () => {
    const store = await opened(join(await folder(), 'holdfast.db'))
    const appended = store.events.append([event(1)])
    expect(await store.events.count()).toBe(1)
    await appended
  })

  it('is committed even if the event loop gets no turn', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    const driver = await openSqliteDriver(file)
    onTestFinished(() => driver.close())
    const appended: Promise<void>[] = []
    for (let n = 0; n < 1000; n++) appended.push(store.events.append([event(n)]))
    // Nothing was awaited, so this is still the same turn.
    expect(driver.prepare('SELECT sum(entries) AS n FROM events').get([])?.n).toBe(512)
    await Promise.all(appended)
    expect(driver.prepare('SELECT sum(entries) AS n FROM events').get([])?.n).toBe(1000)
  })
})

describe('a SQLite file of version 1', () => {
  it('is migrated with all its records, including compressed ones', async () => {
    const file = join(await folder(), 'holdfast.db')
    const driver = await openSqliteDriver(file)
    driver.exec(MIGRATIONS[0] as string)
    driver.exec(`PRAGMA application_id = ${0x486f6c64}; PRAGMA user_version = 1`)
    const events = numbered(0, 6)
    for (const [n, { eventId, eventType, operation, sessionId, timestamp }] of events.entries())
      driver
        .prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)')
        .run([n + 1, timestamp.getTime(), eventId, eventType, operation ?? null, sessionId ?? null])
    const texts = events.map((each) => JSON.stringify(eventCodec.encode(each)))
    const body = driver.prepare('INSERT INTO events_bodies VALUES (?, ?, ?)')
    body.run([1, 4, deflateRawSync(`[${texts.slice(0, 4).join(',')}]`)])
    body.run([5, 6, `[${texts.slice(4).join(',')}]`])
    const one = session(1, { policyIds: ['a', 'default'] })
    driver
      .prepare('INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
      .run([
        1,
        one.startTime.getTime(),
        one.sessionId,
        one.operation,
        null,
        one.correlationId,
        0,
        'default\na',
      ])
    driver
      .prepare('INSERT INTO sessions_bodies VALUES (?, ?, ?)')
      .run([1, 1, JSON.stringify([sessionCodec.encode(one)])])
    driver.close()

    const store = await opened(file)
    expect(await everything(store.events)).toEqual(events)
    expect(await store.events.count()).toBe(6)
    expect((await store.events.list({ types: [events[0]?.eventType ?? ''] })).items.length).toBeGreaterThan(0)
    expect((await store.events.list({ after: events[4]?.eventId })).items).toEqual([events[5]])
    expect(await store.sessions.get(one.sessionId)).toEqual(one)
    expect((await store.sessions.list({ policyId: one.policyId, success: false })).items).toEqual([one])
    await store.events.append([event(6)])
    expect(await everything(store.events)).toEqual(numbered(0, 7))
  })
})

describe('the size of a SQLite file', () => {
  /** Pages of the file in total and unused, and bytes on the disk. */
  async function sizeOf(file: string) {
    const driver = await openSqliteDriver(file)
    const pragma = (name: string) => Number(Object.values(driver.prepare(`PRAGMA ${name}`).get([]) ?? {})[0])
    const size = {
      pages: pragma('page_count'),
      free: pragma('freelist_count'),
      bytes: (await stat(file)).size,
    }
    driver.close()
    return size
  }

  /** Free pages that retention leaves in the file. */
  const MIN_FREE_PAGES = 1024

  it('shrinks with the retention of records, and the log is emptied', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    for (let from = 0; from < 40_000; from += 2000)
      await store.events.append(
        numbered(from, from + 2000).map((one) => ({
          ...one,
          context: { note: randomBytes(300).toString('hex') },
        })),
      )
    const { pages } = await sizeOf(file)
    expect(pages).toBeGreaterThan(4 * MIN_FREE_PAGES)
    await store.events.expire({ maxEntries: 100 })
    const size = await sizeOf(file)
    expect(size.free).toBeLessThanOrEqual(MIN_FREE_PAGES)
    expect(size.pages).toBeLessThan(pages / 3)
    expect(size.bytes).toBe(size.pages * 4096)
    expect((await stat(`${file}-wal`)).size).toBe(0)
    expect(await everything(store.events)).toHaveLength(100)
  })

  it('shrinks when dead letters are purged', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    const entries = Array.from({ length: 400 }, (_, n) => letter(n, { originalPayload: 'x'.repeat(40_000) }))
    await store.deadLetters.add(entries, { maxEntries: 1000 })
    const { pages } = await sizeOf(file)
    expect(await store.deadLetters.purge({}, at(1_000_000))).toBe(400)
    const size = await sizeOf(file)
    expect(size.free).toBeLessThanOrEqual(MIN_FREE_PAGES)
    expect(size.pages).toBeLessThan(pages / 2)
  })

  it('stays if the file was created by an earlier release, until it is converted', async () => {
    const file = join(await folder(), 'holdfast.db')
    const created = await openSqliteDriver(file)
    created.exec('PRAGMA journal_mode = WAL; PRAGMA application_id = 0x486f6c64')
    for (const sql of MIGRATIONS) created.exec(sql)
    created.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
    created.close()
    const purge = async () => {
      const store = await opened(file)
      const entries = Array.from({ length: 200 }, (_, n) =>
        letter(n, { originalPayload: 'x'.repeat(40_000) }),
      )
      await store.deadLetters.add(entries, { maxEntries: 1000 })
      await store.deadLetters.purge({}, at(1_000_000))
      await store.close()
      return sizeOf(file)
    }
    expect((await purge()).free).toBeGreaterThan(MIN_FREE_PAGES)
    const converted = await openSqliteDriver(file)
    converted.exec('PRAGMA auto_vacuum = INCREMENTAL')
    converted.exec('VACUUM')
    converted.close()
    expect((await purge()).free).toBeLessThanOrEqual(MIN_FREE_PAGES)
  })
})
