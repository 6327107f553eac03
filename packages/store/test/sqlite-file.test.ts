import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { SqliteConnection } from '../src/sqlite/connection.js'
import { bufferDeadLetters } from '../src/sqlite/dead-letter-buffer.js'
import { SqliteDeadLetters } from '../src/sqlite/dead-letters.js'
import { openSqliteDriver } from '../src/sqlite/driver.js'
import { openSqlite } from '../src/sqlite/index.js'
import { migrate } from '../src/sqlite/migrations.js'
import { WriteQueue } from '../src/sqlite/write-queue.js'
import { at, letter } from './contract/records.js'
import { folder, opened } from './sqlite-place.js'

const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

describe('the file of a SQLite store', () => {
  it('is accessible to its owner only, with its folder and log files', async () => {
    const dir = join(await folder(), 'new', 'data')
    const store = await opened(join(dir, 'holdfast.db'))
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    expect(await modeOf(dir)).toBe('700')
    const files = await readdir(dir)
    expect(files.toSorted()).toEqual(['holdfast.db', 'holdfast.db-shm', 'holdfast.db-wal'])
    for (const file of files) expect(await modeOf(join(dir, file)), file).toBe('600')
  })

  it('is restricted to its owner when it is opened', async () => {
    const file = join(await folder(), 'holdfast.db')
    const first = await opened(file)
    await first.close()
    await chmod(file, 0o644)
    await opened(file)
    expect(await modeOf(file)).toBe('600')
  })

  it('is not touched before the store is opened', async () => {
    const dir = await folder()
    const store = openSqlite(join(dir, 'holdfast.db'))
    expect(await readdir(dir)).toEqual([])
    await expect(store.deadLetters.stats(at(0))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(store.events.append([])).resolves.toBeUndefined()
    await expect(store.values.set('a', 1)).rejects.toThrow('is not open; call open() first')
    await store.open()
    await store.values.set('a', 1)
    await store.close()
    await expect(store.values.get('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.open()
    expect(await store.values.get('a')).toBe(1)
    await store.close()
    await store.close()
  })

  it('contains all pending writes after the store is closed', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    const added = store.deadLetters.add([letter(1)], NO_LIMIT)
    const set = store.values.set('a', 1)
    await store.close()
    await Promise.all([added, set])
    const again = await opened(file)
    expect(await again.values.get('a')).toBe(1)
    expect(await again.deadLetters.get(letter(1).dlqId, at(0))).toBeDefined()
  })

  it('reports free space', async () => {
    const store = await opened(join(await folder(), 'holdfast.db'))
    expect(await store.freeSpace()).toBeGreaterThan(0)
  })

  it('has the breaker table of other programs, with additional columns at its end', async () => {
    const file = join(await folder(), 'holdfast.db')
    await opened(file)
    const driver = await openSqliteDriver(file)
    onTestFinished(() => driver.close())
    const columns = driver.prepare('SELECT name FROM pragma_table_info(?)').all(['circuit_breaker_states'])
    expect(columns.map(({ name }) => name).slice(0, 13)).toEqual([
      'proxy_id',
      'state',
      'failure_count',
      'failure_window_json',
      'next_test_time',
      'last_state_change',
      'failure_threshold',
      'window_duration',
      'timeout_duration',
      'created_at',
      'updated_at',
      'epoch',
      'opened_in_a_row',
    ])
  })
})

describe('a SQLite file that two processes create at the same time', () => {
  it('is migrated once, in any interleaving', async () => {
    const file = join(await folder(), 'holdfast.db')
    const connect = async (looked: () => void = () => {}) => {
      const driver = await openSqliteDriver(file)
      onTestFinished(() => driver.close())
      driver.exec('PRAGMA journal_mode = WAL')
      const within = (begin: string) => (work: () => unknown) => {
        driver.exec(begin)
        const result = work()
        driver.exec('COMMIT')
        return result
      }
      return {
        exec: (sql: string) => driver.exec(sql),
        read: within('BEGIN'),
        write: within('BEGIN IMMEDIATE'),
        get(sql: string) {
          const row = driver.prepare(sql).get([])
          looked()
          return row
        },
      } as unknown as SqliteConnection
    }
    const second = await connect()
    let looks = 0
    const first = await connect(() => {
      if (++looks === 1) migrate(second, file)
    })
    expect(() => migrate(first, file)).not.toThrow()
    expect(looks).toBeGreaterThan(3)
    await (await opened(file)).values.set('a', 1)
  })
})

describe('a SQLite file that cannot be used', () => {
  const refusal = async (file: string) => {
    const error: unknown = await openSqlite(file)
      .open()
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', status: 503 })
    expect(String(error)).toContain(file)
    return String(error)
  }

  it('is reported if it is not a database', async () => {
    const file = join(await folder(), 'holdfast.db')
    await writeFile(file, 'this is a letter to my aunt, and rather a long one. '.repeat(100))
    expect(await refusal(file)).toMatch(/not a SQLite database, or it is damaged; move it away/)
    expect(await readFile(file, 'utf8')).toMatch(/^this is a letter/)
  })

  it('is reported if it is damaged, and is created again after it was moved away', async () => {
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file)
    for (let n = 0; n < 200; n++) await store.deadLetters.add([letter(n)], NO_LIMIT)
    await store.close()
    const bytes = await readFile(file)
    bytes.fill(0xaa, 4096)
    await writeFile(file, bytes)
    const damaged = openSqlite(file)
    const used = damaged.open().then(() => damaged.deadLetters.list(undefined, at(0)))
    await expect(used).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(used).rejects.toThrow(/damaged; move it away together with its -wal and -shm files/)
    await damaged.close()
    await rm(file)
    await damaged.open()
    expect((await damaged.deadLetters.list(undefined, at(0))).items).toEqual([])
    await damaged.close()
  })

  it('is reported if it belongs to another program', async () => {
    const file = join(await folder(), 'holdfast.db')
    const driver = await openSqliteDriver(file)
    driver.exec('CREATE TABLE cats (name TEXT)')
    driver.close()
    expect(await refusal(file)).toContain('belongs to another program')
  })

  it('is reported if a later release wrote it', async () => {
    const file = join(await folder(), 'holdfast.db')
    await (await opened(file)).close()
    const driver = await openSqliteDriver(file)
    driver.exec('PRAGMA user_version = 99')
    driver.close()
    expect(await refusal(file)).toContain('written by a later release')
  })

  it('is reported if it is a folder, or its folder is a file', async () => {
    const dir = await folder()
    await mkdir(join(dir, 'holdfast.db'))
    expect(await refusal(join(dir, 'holdfast.db'))).toContain('cannot be opened')
    await writeFile(join(dir, 'file'), '')
    expect(await refusal(join(dir, 'file', 'holdfast.db'))).toContain('cannot be opened')
  })
})

describe('a full disk', () => {
  /** A store whose file cannot grow until the limit is removed. */
  async function full() {
    const commits = new WriteQueue(join(await folder(), 'holdfast.db'), { lockTimeout: 1000 })
    onTestFinished(() => commits.close())
    await commits.open()
    const letters = bufferDeadLetters(new SqliteDeadLetters(commits))
    await letters.add([letter(0)], NO_LIMIT)
    commits.sql.exec('PRAGMA max_page_count = 1')
    return { letters, makeRoom: () => commits.sql.exec('PRAGMA max_page_count = 1000000') }
  }

  const large = (n: number) => letter(n, { originalPayload: 'x'.repeat(100_000) })

  it('rejects writes, keeps acknowledged ones, and continues when there is space', async () => {
    const { letters, makeRoom } = await full()
    const refused = letters.add([large(1)], NO_LIMIT)
    await expect(refused).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(refused).rejects.toThrow('the disk is full; free some space')
    expect(await letters.get(letter(0).dlqId, at(0))).toEqual(letter(0))
    expect(await letters.stats(at(0))).toMatchObject({ total: 1 })
    makeRoom()
    expect(await letters.add([large(1)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
    expect(await letters.stats(at(0))).toMatchObject({ total: 2 })
  })

  it('fails only those writes of a turn for which there is no space', async () => {
    const { letters } = await full()
    const results = await Promise.allSettled([
      letters.request(letter(0).dlqId, at(1)),
      letters.add([large(1)], NO_LIMIT),
      letters.complete(letter(0).dlqId, at(2)),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await letters.get(letter(0).dlqId, at(3))).toMatchObject({ status: 'completed' })
  })
})
