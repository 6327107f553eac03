import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { filesStore } from '../src/files/index.js'
import { toPathSegment } from '../src/files/paths.js'
import { at, errorRecord, event, letter, session } from './contract/records.js'
import { tempFolder } from './place.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

async function opened(dir: string) {
  const warnings: string[] = []
  const store = filesStore(dir, { warn: (line) => warnings.push(line) })
  await store.open()
  onTestFinished(() => store.close())
  return { store, warnings, dlq: store.deadLetters }
}

const json = async (...path: string[]) => JSON.parse(await readFile(join(...path), 'utf8')) as unknown
const text = (...path: string[]) => readFile(join(...path), 'utf8')

async function everything(dir: string): Promise<string[]> {
  return (await readdir(dir, { recursive: true })).map((name) => join(dir, name))
}

describe('the folder of a files store', () => {
  it('contains one file per entry in the spelling of the wire, and the processed ids', async () => {
    const dir = await tempFolder()
    const { dlq } = await opened(dir)
    await dlq.add([letter(1), letter(2), letter(3)], NO_LIMIT)
    await dlq.lease('dlq_1', 'me', at(90), at(50))
    expect(await json(dir, 'dlq/gmail_fetch/dlq_1.json')).toMatchObject({
      schema: '1.1',
      dlq_id: 'dlq_1',
      item_id: 'item1',
      operation_type: 'gmail_fetch',
      status: 'replaying',
      original_payload: { mail_id: 1, nestedKey: [1, { b_c: null }] },
      error_details: {
        error_type: 'Error',
        error_message: 'down',
        stack_trace: 'Error: down',
        retry_count: 2,
      },
      created_at: '2026-01-15T12:00:01.000Z',
      leased_until: '2026-01-15T12:01:30.000Z',
      idempotency_key: 'key1',
      processed: false,
    })
    await dlq.complete('dlq_2', at(3))
    expect(await json(dir, 'dlq/.processed_ids.json')).toEqual(['dlq_2'])
    await dlq.complete('dlq_1', at(3))
    await dlq.complete('dlq_3', at(3))
    expect(await json(dir, 'dlq/.processed_ids.json')).toEqual(['dlq_2', 'dlq_1', 'dlq_3'])
    await dlq.purge({}, at(4))
    expect(await readdir(join(dir, 'dlq/gmail_fetch'))).toEqual([])
  })

  it('contains error records by severity and day, one object per line', async () => {
    const dir = await tempFolder()
    const { store } = await opened(dir)
    await store.errors.append([errorRecord(1), errorRecord(2, { severity: 'CRITICAL' }), errorRecord(86_400)])
    const lines = (await text(dir, 'logs/ERROR/errors_2026-01-15.jsonl')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { message: 'failure 1', error_type: 'Error' },
    ])
    expect(existsSync(join(dir, 'logs/CRITICAL/errors_2026-01-15.jsonl'))).toBe(true)
    expect(existsSync(join(dir, 'logs/ERROR/errors_2026-01-16.jsonl'))).toBe(true)
  })

  it('is readable by its owner only', async () => {
    const dir = join(await tempFolder(), 'store')
    const { store, dlq } = await opened(dir)
    await dlq.add([letter(1)], NO_LIMIT)
    await dlq.complete('dlq_1', at(2))
    await store.errors.append([errorRecord(1)])
    await store.sessions.append([session(1)])
    await store.sessions.expire({ before: at(2) })
    await store.values.set('k', 1)
    await store.metrics.save([{ series: 'minute:total', start: 0, node: 'n', data: 1 }])
    await store.layers.append({ version: 1, by: 'a', at: at(1), layer: {} }, 0)
    const modes = await Promise.all(
      [dir, ...(await everything(dir))].map(async (path) => {
        const found = await stat(path)
        return { path, mode: found.mode & 0o777, wanted: found.isDirectory() ? 0o700 : 0o600 }
      }),
    )
    expect(modes.filter(({ mode, wanted }) => mode !== wanted)).toEqual([])
    expect(modes.length).toBeGreaterThan(20)
  })

  it('contains every path that is derived from a name, and ordinary names are kept', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const part = toPathSegment(name)
        expect(part).toMatch(/^[\w%~@!'()-]([\w.%~@!'()-]*[\w%~@!'()-])?$/)
        expect(part.length).toBeLessThanOrEqual(200)
        if (/^[\w@-][\w.@-]{0,80}[\w@-]$/.test(name) && !/^(con|prn|aux|nul|com\d|lpt\d)/i.test(name))
          expect(part).toBe(name)
      }),
    )
    const names = [
      '',
      '.',
      '..',
      'con',
      'nul.txt',
      'A',
      'a',
      'CON',
      'a.',
      '.a',
      'a/b',
      '\ud800',
      '\ud801',
      '\ufffd',
    ]
    expect(new Set(names.map(toPathSegment)).size).toBe(names.length)
    const ordinary = [
      'browser.state',
      'Mail.sendNow',
      'Ada@Example.com',
      'a%2Fb',
      encodeURIComponent("it's/~(so)!"),
    ]
    expect(ordinary.map(toPathSegment)).toEqual(ordinary)
    expect(['../x', 'a\\b', 'a\0b', 'NUL', 'Com1.txt', '.hidden'].map(toPathSegment)).toEqual([
      '%2E.%2Fx',
      'a%5Cb',
      'a%00b',
      '%4EUL',
      '%43om1.txt',
      '%2Ehidden',
    ])
  })
})

describe('a files store with files of killed processes and operators', () => {
  it('quarantines partial and foreign files with a warning, and reads the others', async () => {
    const dir = await tempFolder()
    const first = await opened(dir)
    await first.dlq.add([letter(1), letter(2)], NO_LIMIT)
    await first.store.close()
    const folder = join(dir, 'dlq/gmail_fetch')
    await writeFile(
      join(folder, 'dlq_2.json'),
      '{"dlq_id": "dlq_2", "original_payload": {"password": "hunter2',
    )
    await writeFile(join(folder, 'odd.json'), '{"dlq_id": "odd"}')
    await writeFile(join(folder, 'empty.json'), '')
    const { dlq, warnings } = await opened(dir)
    expect((await dlq.list(undefined, at(9))).items.map(({ dlqId }) => dlqId)).toEqual(['dlq_1'])
    expect(warnings).toHaveLength(3)
    expect(warnings.join()).toContain('dlq_2.json is not a valid dead letter')
    expect(warnings.join()).not.toContain('hunter2')
    expect((await readdir(join(dir, 'dlq/.damaged/gmail_fetch'))).toSorted()).toEqual([
      'dlq_2.json',
      'empty.json',
      'odd.json',
    ])
    expect(await dlq.add([letter(2)], NO_LIMIT)).toMatchObject([{ result: 'added' }])
  })

  it('deletes temporary files', async () => {
    const dir = await tempFolder()
    const first = await opened(dir)
    await first.dlq.add([letter(1)], NO_LIMIT)
    await first.store.close()
    const left = join(dir, 'dlq/gmail_fetch/.unfinished-1')
    await writeFile(left, '{"dlq')
    const { dlq } = await opened(dir)
    expect(existsSync(left)).toBe(false)
    expect(await dlq.get('dlq_1', at(2))).toBeDefined()
  })

  it('detects files that an operator deletes, adds and restores while it runs', async () => {
    const dir = await tempFolder()
    const { dlq } = await opened(dir)
    await dlq.add([letter(1), letter(2)], NO_LIMIT)
    const path = join(dir, 'dlq/gmail_fetch/dlq_1.json')
    const content = await readFile(path)
    await rm(path)
    expect(await dlq.get('dlq_1', at(3))).toBeUndefined()
    expect((await dlq.list(undefined, at(3))).items).toHaveLength(1)
    expect(await dlq.lease('dlq_1', 'me', at(9), at(3))).toEqual({ result: 'missing' })
    await mkdir(join(dir, 'dlq/gmail_fetch'), { recursive: true })
    await writeFile(path, content)
    expect((await dlq.stats(at(3))).total).toBe(2)
    expect(await dlq.lease('dlq_1', 'me', at(9), at(3))).toMatchObject({ result: 'leased' })
  })

  it('ignores a copy of an entry with a warning', async () => {
    const dir = await tempFolder()
    const { dlq, warnings } = await opened(dir)
    await dlq.add([letter(1)], NO_LIMIT)
    const folder = join(dir, 'dlq/gmail_fetch')
    await writeFile(join(folder, 'copy.json'), await readFile(join(folder, 'dlq_1.json')))
    expect((await dlq.list(undefined, at(3))).items).toHaveLength(1)
    expect(warnings.join()).toContain('copy.json has the same id as')
  })

  it('ignores a partial line of a journal, and never appends to it', async () => {
    const dir = await tempFolder()
    const { store } = await opened(dir)
    await store.events.append([event(1)])
    const file = join(dir, 'events/events_2026-01-15.jsonl')
    await appendFile(file, '{"schema":"1.1","event_id":"evt_2","event_type":"retry_at')
    expect((await store.events.list()).items).toEqual([event(1)])
    await store.events.append([event(3)])
    expect((await store.events.list()).items).toEqual([event(3), event(1)])
    expect(await store.events.count()).toBe(2)
  })

  it('reads every id of a list of processed ids that was truncated anywhere', async () => {
    const dir = await tempFolder()
    const first = await opened(dir)
    const ids = ['dlq_1', 'dlq_2', 'ü"]\n', 'dlq_4']
    await first.dlq.add(
      ids.map((dlqId, n) => letter(n, { dlqId })),
      NO_LIMIT,
    )
    for (const id of ids.slice(0, 3)) await first.dlq.complete(id, at(9))
    await first.store.close()
    const list = join(dir, 'dlq/.processed_ids.json')
    const before = await readFile(list)
    await first.store.close()
    const second = await opened(dir)
    await second.dlq.complete('dlq_4', at(9))
    await second.dlq.purge({}, at(10))
    await second.store.close()
    const after = await readFile(list)
    expect(JSON.parse(after.toString())).toEqual(ids)
    // The bytes that were written before the process was killed replace the previous ones.
    const start = before.length - 3
    for (let done = 0; done <= after.length - start; done++) {
      const torn = Buffer.concat([after.subarray(0, start + done), before.subarray(start + done)])
      await writeFile(list, torn)
      const { dlq, store } = await opened(dir)
      for (const id of ids.slice(0, 3)) expect(await dlq.isProcessed(id), `${done} bytes`).toBe(true)
      await dlq.add([letter(7, { dlqId: `new${done}`, idempotencyKey: `new${done}` })], NO_LIMIT)
      await dlq.complete(`new${done}`, at(9))
      await dlq.purge({}, at(10))
      await store.close()
      const healed = JSON.parse(await text(list)) as string[]
      expect(healed).toEqual([...ids.slice(0, healed.length - 1), `new${done}`])
      expect(healed.length).toBeGreaterThanOrEqual(4)
    }
  })

  it('reads a list of processed ids in any layout', async () => {
    const dir = await tempFolder()
    await mkdir(join(dir, 'dlq'), { recursive: true })
    for (const layout of ['["a","b"]', '[\r\n  "a",\r\n  "b"\r\n]\r\n', '[\n    "a",\n    "b"\n]']) {
      await writeFile(join(dir, 'dlq/.processed_ids.json'), layout)
      const { dlq, store } = await opened(dir)
      expect(await dlq.isProcessed('a')).toBe(true)
      expect(await dlq.isProcessed('b')).toBe(true)
      await dlq.add([letter(1)], NO_LIMIT)
      await dlq.complete('dlq_1', at(2))
      await dlq.purge({}, at(3))
      expect(await json(dir, 'dlq/.processed_ids.json')).toEqual(['a', 'b', 'dlq_1'])
      await store.close()
    }
  })

  it('records the id of a completed entry that is missing in the list of processed ids', async () => {
    const dir = await tempFolder()
    const first = await opened(dir)
    await first.dlq.add([letter(1)], NO_LIMIT)
    await first.dlq.complete('dlq_1', at(2))
    await first.store.close()
    await rm(join(dir, 'dlq/.processed_ids.json'))
    const { dlq } = await opened(dir)
    await dlq.purge({}, at(3))
    expect(await dlq.isProcessed('dlq_1')).toBe(true)
  })
})

describe('files of earlier days', () => {
  it('are compressed, and can be read and paged', async () => {
    const dir = await tempFolder()
    const { store } = await opened(dir)
    const day = 86_400
    const records = Array.from({ length: 12 }, (_, n) =>
      event(n, { timestamp: at(Math.floor(n / 3) * day + n) }),
    )
    await store.events.append(records.slice(0, 6))
    const page = await store.events.list({ limit: 2, order: 'oldest' })
    await store.events.append(records.slice(6))
    await store.close()
    expect((await readdir(join(dir, 'events'))).toSorted()).toEqual([
      'events_2026-01-15.jsonl.gz',
      'events_2026-01-16.jsonl.gz',
      'events_2026-01-17.jsonl',
      'events_2026-01-18.jsonl',
    ])
    const again = await opened(dir)
    expect((await again.store.events.list()).items).toEqual(records.toReversed())
    expect((await again.store.events.list({ order: 'oldest', cursor: page.cursor })).items).toEqual(
      records.slice(2),
    )
    expect(await again.store.events.count()).toBe(12)
    // If the clock is set back to a compressed day, the record is appended to a later file.
    const late = event(99, { timestamp: at(1) })
    await again.store.events.append([late])
    expect((await again.store.events.list({ limit: 100 })).items).toContainEqual(late)
    expect(await again.store.events.expire({ before: at(day + 4) })).toBe(5)
    expect(await again.store.events.count()).toBe(8)
  })
})
