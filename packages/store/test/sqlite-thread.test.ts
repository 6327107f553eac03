import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { HoldfastError, isHoldfastError } from 'holdfast'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { sourceAliases } from '../../../scripts/packages.mjs'
import { openSqliteDriver } from '../src/sqlite/driver.js'
import { openSqlite } from '../src/sqlite/index.js'
import { ThreadHost } from '../src/sqlite/thread-host.js'
import { decodeError, encodeError } from '../src/sqlite/thread-protocol.js'
import { createWorkerStarter } from '../src/sqlite/worker-thread.js'
import type { Store } from '../src/store.js'
import { at, audit, breakerEvent, errorRecord, event, letter, session } from './contract/records.js'
import { describeStore } from './contract.js'
import { folder, opened } from './sqlite-place.js'
import { buildSqliteThread } from './sqlite-thread-build.mjs'

const ROOT = join(import.meta.dirname, '../../..')
const NO_LIMIT = { maxEntries: Number.POSITIVE_INFINITY }

let programs: string
let threadEntry: URL
beforeAll(async () => {
  await mkdir(join(ROOT, '.cache'), { recursive: true })
  programs = await mkdtemp(join(ROOT, '.cache/sqlite-thread-'))
  threadEntry = pathToFileURL(await buildSqliteThread(programs))
})
afterAll(() => rm(programs, { recursive: true, force: true }))

describeStore(
  'sqlite in a thread',
  async () => {
    const dir = await mkdtemp(join(tmpdir(), 'holdfast-sqlite-'))
    return {
      async open() {
        const store = openSqlite(join(dir, 'data', 'holdfast.db'), { threadEntry })
        await store.open()
        return store
      },
      remove: () => rm(dir, { recursive: true }),
    }
  },
  { durable: true },
)

/**
 * A thread that ends by itself: `point` is `request` for when a request has arrived, before it is committed, or `response` for when a
 * request was carried out, before the response. It ends as often as `arm` allows.
 */
async function fragileThread(point: 'request' | 'response', method: string) {
  const dir = await mkdtemp(join(programs, 'fragile-'))
  const marker = join(dir, 'armed')
  const entry = join(dir, 'main.js')
  await writeFile(
    entry,
    `import ${JSON.stringify(threadEntry.href)}
    import { existsSync, readFileSync, writeFileSync } from 'node:fs'
    import { parentPort } from 'node:worker_threads'
    const requests = new Map()
    const end = (method) => {
      const left = existsSync(${JSON.stringify(marker)}) ? Number(readFileSync(${JSON.stringify(marker)}, 'utf8')) : 0
      if (left === 0 || method !== ${JSON.stringify(method)}) return
      writeFileSync(${JSON.stringify(marker)}, String(left - 1))
      process.exit(7)
    }
    const post = parentPort.postMessage
    parentPort.postMessage = (response) => {
      if (${JSON.stringify(point)} === 'response') end(requests.get(response.id))
      post.call(parentPort, response)
    }
    parentPort.on('message', ({ id, method }) => {
      requests.set(id, method)
      if (${JSON.stringify(point)} === 'request') end(method)
    })`,
  )
  return {
    threadEntry: pathToFileURL(entry),
    arm: (times = 1) => writeFile(marker, String(times)),
  }
}

/** The lines on stderr until the test ends. */
function errorLines(): string[] {
  const lines: string[] = []
  const spy = vi.spyOn(console, 'error').mockImplementation((line) => void lines.push(String(line)))
  onTestFinished(() => spy.mockRestore())
  return lines
}

describe('a thread that ends unexpectedly', () => {
  it('is replaced, and writes that it had not carried out are stored', async () => {
    const lines = errorLines()
    const { threadEntry, arm } = await fragileThread('request', 'insert')
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    await arm()
    await Promise.all([
      store.deadLetters.add([letter(2)], NO_LIMIT),
      store.sessions.append([session(1)]),
      store.values.set('k', 1),
    ])
    expect((await store.deadLetters.stats(at(9))).total).toBe(2)
    expect(await store.sessions.count()).toBe(1)
    expect(await store.values.get('k')).toBe(1)
    expect(lines).toEqual([
      expect.stringMatching(/the thread of the SQLite store .* ended \(.*7\); it is started again/),
    ])
  })

  it('stores an entry once if it ended between the commit and the response', async () => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('response', 'insert')
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    await arm()
    expect(await store.deadLetters.add([letter(1)], NO_LIMIT)).toMatchObject([{ entry: { dlqId: 'dlq_1' } }])
    expect((await store.deadLetters.stats(at(9))).total).toBe(1)
  })

  it.each<[string, (store: Store) => Promise<unknown>]>([
    ['lease', ({ deadLetters }) => deadLetters.lease('dlq_1', 'me', at(90), at(9))],
    [
      'leaseNext',
      ({ deadLetters }) => deadLetters.leaseNext({ statuses: ['pending'], limit: 1 }, 'me', at(90), at(9)),
    ],
    ['settle', ({ deadLetters }) => deadLetters.settle('dlq_1', 'me', { status: 'completed', at: at(9) })],
    ['purge', ({ deadLetters }) => deadLetters.purge({ limit: 1 }, at(9))],
    ['edit', ({ deadLetters }) => deadLetters.edit('dlq_1', { amount: 1 }, at(9))],
    ['append', ({ layers }) => layers.append({ version: 1, by: 'me', at: at(9), layer: {} }, 0)],
  ])('fails %s, which may have been carried out, and does not carry it out twice', async (method, change) => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('response', method)
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    await store.deadLetters.add([letter(1), letter(2)], NO_LIMIT)
    await arm()
    await expect(change(store)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('may have been carried out or not'),
    })
    const { total, byStatus } = await store.deadLetters.stats(at(10))
    const { editedPayload } = (await store.deadLetters.get('dlq_1', at(10))) ?? {}
    const edits = editedPayload === undefined ? 0 : 1
    const changes =
      2 - total + byStatus.replaying + byStatus.completed + edits + (await store.layers.history()).length
    expect(changes).toBe(1)
  })

  it.each<[string, string, (store: Store) => Promise<number>]>([
    ['events', 'expire', ({ events }) => events.expire({ maxEntries: 0 })],
    ['sessions', 'expire', ({ sessions }) => sessions.expire({ maxEntries: 0 })],
    ['errors', 'expire', ({ errors }) => errors.expire({ maxEntries: 0 })],
    ['audit', 'expire', ({ audit }) => audit.expire({ maxEntries: 0 })],
    ['breakerEvents', 'expire', ({ breakerEvents }) => breakerEvents.expire({ maxEntries: 0 })],
    ['metrics', 'expire', ({ metrics }) => metrics.expire(2)],
    ['layers', 'expire', ({ layers }) => layers.expire(0)],
    ['deadLetters', 'deleteProcessedIds', ({ deadLetters }) => deadLetters.deleteProcessedIds(at(9e7))],
  ])('does not return a wrong number of deleted records of %s.%s', async (_table, method, deleteRecords) => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('response', method)
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    await store.events.append([event(1)])
    await store.sessions.append([session(1)])
    await store.errors.append([errorRecord(1)])
    await store.audit.append([audit(1)])
    await store.breakerEvents.append([breakerEvent(1)])
    await store.metrics.save([{ series: 's', start: 1, node: 'n', data: {} }])
    await store.layers.append({ version: 1, by: 'me', at: at(1), layer: {} }, 0)
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    await store.deadLetters.complete('dlq_1', at(1))
    await store.deadLetters.purge({}, at(2))
    await arm()
    await expect(deleteRecords(store)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('may have been carried out or not'),
    })
    expect(await deleteRecords(store)).toBe(0)
  })

  it('does not report an entry as leased whose payload it has edited before the lease', async () => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('response', 'edit')
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    await store.deadLetters.add([letter(1)], NO_LIMIT)
    await arm()
    const results = await Promise.allSettled([
      store.deadLetters.edit('dlq_1', { amount: 1 }, at(8)),
      store.deadLetters.lease('dlq_1', 'me', at(90), at(9)),
    ])
    expect(results).toMatchObject([
      { reason: { code: 'STORE_UNAVAILABLE' } },
      { reason: { code: 'STORE_UNAVAILABLE' } },
    ])
    expect(await store.deadLetters.get('dlq_1', at(10))).toMatchObject({ editedPayload: { amount: 1 } })
  })

  it('fails a call that ends every thread, and continues with the next call', async () => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('request', 'stats')
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    await arm(2)
    await expect(store.deadLetters.stats(at(1))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect((await store.deadLetters.stats(at(1))).total).toBe(0)
  })

  it('keeps waiting writes if it ended while the store was being closed', async () => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('request', 'close')
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file, { threadEntry })
    await arm()
    const written = store.events.append([event(1)])
    await store.close()
    await written
    const again = await opened(file)
    expect(await again.events.count()).toBe(1)
  })

  it('does not create a file again that was deleted meanwhile', async () => {
    errorLines()
    const { threadEntry, arm } = await fragileThread('request', 'stats')
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file, { threadEntry })
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true })
    await arm()
    await expect(store.deadLetters.stats(at(1))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await expect(stat(file)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('does not change the report of damaged rows', async () => {
    const lines = errorLines()
    const { threadEntry, arm } = await fragileThread('request', 'stats')
    const file = join(await folder(), 'holdfast.db')
    const store = await opened(file, { threadEntry })
    await store.values.set('k', 1)
    const driver = await openSqliteDriver(file)
    driver.exec("UPDATE named_values SET value = '{'")
    driver.close()
    expect(await store.values.get('k')).toBeUndefined()
    expect(store.damaged).toBe(true)
    await arm()
    await store.deadLetters.stats(at(1))
    expect(store.damaged).toBe(true)
    expect(lines).toEqual([expect.stringContaining('it is started again')])
  })

  it('is not used if it cannot be started', async () => {
    const lines = errorLines()
    const entry = join(programs, 'broken.js')
    await writeFile(entry, "import './missing.js'")
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry: pathToFileURL(entry) })
    await store.values.set('k', 1)
    expect(await store.values.get('k')).toBe(1)
    expect(lines).toEqual([
      expect.stringContaining('uses the main thread, because its own cannot be started'),
    ])
  })
})

/** Builds a program that uses the store from its sources, next to the program of the thread. */
async function buildProgram(text: string): Promise<string> {
  const outfile = join(await mkdtemp(join(programs, 'program-')), 'main.mjs')
  await copyFile(threadEntry, join(dirname(outfile), 'holdfast-sqlite-thread.js'))
  await build({
    stdin: {
      contents: `import { threadId } from 'node:worker_threads'
        import { openSqlite } from './packages/store/src/sqlite/index.ts'
        ${text}`,
      resolveDir: ROOT,
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['libsql'],
    alias: sourceAliases,
  })
  return outfile
}

describe('the calls that wait for a thread', () => {
  async function openedHost(limits: { calls: number; size: number }) {
    const host = new ThreadHost(
      join(await folder(), 'holdfast.db'),
      {},
      createWorkerStarter(threadEntry),
      limits,
    )
    await host.call('file', 'open', [])
    onTestFinished(async () => void (await host.call('file', 'close', [])))
    return host
  }

  it('are limited in number', async () => {
    const host = await openedHost({ calls: 2, size: 1000 })
    const calls = ['a', 'b', 'c'].map((key) => host.call('values', 'get', [key]))
    expect(await Promise.allSettled(calls)).toMatchObject([
      { status: 'fulfilled' },
      { status: 'fulfilled' },
      {
        reason: {
          code: 'STORE_UNAVAILABLE',
          status: 503,
          retryAfter: 1000,
          message: expect.stringContaining('2 calls wait for its thread'),
        },
      },
    ])
    await host.call('values', 'get', ['c'])
  })

  it('are limited in size', async () => {
    const host = await openedHost({ calls: 10, size: 1000 })
    const set = (key: string) => host.call('values', 'set', [key, { text: 'x'.repeat(600) }])
    const results = await Promise.allSettled(['a', 'b', 'c'].map(set))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    await set('c')
    expect(await host.call('values', 'list', [''])).toHaveLength(3)
  })

  it('are 10,000 by default', async () => {
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    const calls = Array.from({ length: 10_001 }, () => store.values.get('k'))
    const results = await Promise.allSettled(calls)
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([results.at(-1)])
  })
})

describe('a SQLite store with a thread', () => {
  it('rejects with the error and its cause', async () => {
    const dir = await folder()
    await mkdir(join(dir, 'holdfast.db'))
    const opening = openSqlite(join(dir, 'holdfast.db'), { threadEntry }).open()
    const error = await opening.catch((thrown: unknown) => thrown)
    expect(isHoldfastError(error, 'STORE_UNAVAILABLE')).toBe(true)
    expect(error).toMatchObject({ status: 503, message: expect.stringContaining('cannot be opened') })
    expect((error as Error).cause).toBeInstanceOf(Error)
  })

  it('rejects with the name and fields of a system error', async () => {
    const file = join(await folder(), 'file')
    await writeFile(file, '')
    const opening = openSqlite(join(file, 'holdfast.db'), { threadEntry }).open()
    const local = openSqlite(join(file, 'holdfast.db')).open()
    const [{ cause }, { cause: expected }] = (await Promise.all(
      [opening, local].map((one) => one.catch((thrown: unknown) => thrown)),
    )) as [Error, Error]
    expect(cause).toMatchObject({ code: 'EEXIST', syscall: 'mkdir', path: file, errno: expect.any(Number) })
    expect({ ...(cause as object) }).toEqual({ ...(expected as object) })
    expect(String(cause)).toBe(String(expected))
  })

  it('rejects with the names of the errors', () => {
    const decoded = decodeError(encodeError(new TypeError('a', { cause: new RangeError('b') })))
    expect(decoded.name).toBe('TypeError')
    expect(Object.keys(decoded)).toEqual([])
    expect((decoded.cause as Error).name).toBe('RangeError')
    expect(decodeError(encodeError(new HoldfastError('STORE_UNAVAILABLE', 'c'))).name).toBe('HoldfastError')
  })

  it('rejects every call of open if the file cannot be opened', async () => {
    const dir = await folder()
    await mkdir(join(dir, 'holdfast.db'))
    const store = openSqlite(join(dir, 'holdfast.db'), { threadEntry })
    const results = await Promise.allSettled([store.open(), store.open(), store.open()])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  })

  it('is closed by a call of close while it is being opened, and can be opened while it is being closed', async () => {
    const store = openSqlite(join(await folder(), 'holdfast.db'), { threadEntry })
    const opening = store.open()
    await store.close()
    await opening
    await expect(store.values.get('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.open()
    const closing = store.close()
    await store.open()
    await closing
    await store.values.set('k', 1)
    expect(await store.values.get('k')).toBe(1)
    await store.close()
  })

  it('stores the JSON form of payloads and values', async () => {
    const store = await opened(join(await folder(), 'holdfast.db'), { threadEntry })
    const payload = { price: { toJSON: () => '12 EUR' }, ignored: () => 1 }
    await store.deadLetters.add([letter(1, { originalPayload: payload })], NO_LIMIT)
    await store.deadLetters.edit('dlq_1', payload, at(2))
    await store.values.set('k', payload)
    const stored = { price: '12 EUR' }
    expect(await store.deadLetters.get('dlq_1', at(3))).toMatchObject({
      originalPayload: stored,
      editedPayload: stored,
    })
    expect(await store.values.get('k')).toEqual(stored)
    await expect(store.deadLetters.edit('dlq_1', 1n, at(2))).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
    await expect(store.deadLetters.list({ status: (() => 1) as never }, at(1))).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('does not keep the process running, except while a call waits', async () => {
    const child = await buildProgram(`
      const store = openSqlite(process.argv[2])
      await store.open()
      await store.values.set('awaited', 1)
      store.values.set('not awaited', 1)`)
    const file = join(await folder(), 'holdfast.db')
    await promisify(execFile)(process.execPath, [child, file])
    const store = await opened(file)
    expect(await store.values.get('awaited')).toBe(1)
    expect(await store.values.get('not awaited')).toBe(1)
  })

  it('gets the options that disable warnings, in both spellings', async () => {
    const entry = join(await mkdtemp(join(programs, 'options-')), 'main.js')
    const output = join(dirname(entry), 'options.json')
    await writeFile(
      entry,
      `import { writeFileSync } from 'node:fs'
      writeFileSync(${JSON.stringify(output)}, JSON.stringify(process.execArgv))`,
    )
    const program = await buildProgram(`
      await openSqlite(process.argv[2], { threadEntry: new URL(process.argv[3]) }).open()`)
    const options = ['--disable-warning', 'DEP0001', '--disable-warning=DEP0002', '--no-deprecation']
    await promisify(execFile)(
      process.execPath,
      [...options, program, join(await folder(), 'holdfast.db'), pathToFileURL(entry).href],
      { env: { ...process.env, NODE_OPTIONS: '--no-warnings --disable-warning DEP0003' } },
    )
    expect(JSON.parse(await readFile(output, 'utf8'))).toEqual([
      '--disable-warning=DEP0001',
      '--disable-warning=DEP0002',
      '--no-warnings',
      '--disable-warning=DEP0003',
    ])
  })

  it.each(['an option', 'NODE_OPTIONS'])(
    'does not load in its thread a module that %s loads before the program',
    async (place) => {
      const preload = await buildProgram(`
        console.log('loaded in the thread', threadId)
        if (threadId > 0) process.exit()
        const store = openSqlite(process.argv[2])
        await store.open()
        await store.values.set('k', 1)`)
      const program = join(programs, 'empty.mjs')
      await writeFile(program, '')
      const option = `--import=${pathToFileURL(preload).href}`
      const file = join(await folder(), 'holdfast.db')
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath,
        [...(place === 'an option' ? [option] : []), program, file],
        { env: { ...process.env, NODE_OPTIONS: place === 'NODE_OPTIONS' ? option : '' } },
      )
      expect(stderr).not.toContain('uses the main thread')
      expect(stdout).toBe('loaded in the thread 0\n')
      expect(await (await opened(file)).values.get('k')).toBe(1)
    },
  )
})
