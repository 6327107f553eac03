import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { openSqliteDriver } from '../../src/sqlite/driver.js'
import { at, event, storedBreaker } from '../contract/records.js'
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

describe('a damaged row of a SQLite store', () => {
  it('is not compressed together with other rows, which stay readable', async () => {
    const { store, driver } = await storeWith(MANY)
    driver.exec(`UPDATE events SET body = substr(body, 1, 50) WHERE last = ${2 * ROW}`)
    await store.events.expire({})
    const { n } = driver.prepare("SELECT count(*) AS n FROM events WHERE typeof(body) = 'blob'").get([]) ?? {}
    expect(Number(n)).toBeGreaterThan(2)
    expect(await countReadable(store)).toBe(MANY - ROW)
  })

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
