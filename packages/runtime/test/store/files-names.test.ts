import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { deadLetterCodec } from '../../../records/src/dead-letter.js'
import { Disk } from '../../../store/src/files/disk.js'
import type { OpenFile } from '../../../store/src/files/file-system.js'
import { filesStore } from '../../../store/src/files/index.js'
import { at, letter } from '../../../store/test/contract/records.js'
import { tempFolder } from '../../../store/test/place.js'
import { Holdfast } from '../../src/index.js'

const NO_LIMIT = { maxEntries: 1_000_000 }

async function opened(dir: string, disk?: Disk) {
  const warnings: string[] = []
  const store = filesStore(dir, { warn: (line) => warnings.push(line), disk })
  await store.open()
  onTestFinished(() => store.close())
  return { warnings, dlq: store.deadLetters }
}

/** A disk that keeps the case of names and ignores it in comparisons, as most desktop systems do. */
class CaseInsensitiveDisk extends Disk {
  private at(path: string): string {
    const folder = dirname(path)
    if (folder === path) return path
    const parent = this.at(folder)
    const like = (name: string) => name.toLowerCase() === basename(path).toLowerCase()
    const found = existsSync(parent) ? readdirSync(parent).find(like) : undefined
    return join(parent, found ?? basename(path))
  }
  override makeFolder(path: string) {
    return super.makeFolder(this.at(path))
  }
  override replace(path: string, content: string | Uint8Array) {
    return super.replace(this.at(path), content)
  }
  override read(path: string) {
    return super.read(this.at(path))
  }
  override open(path: string): Promise<OpenFile | undefined> {
    return super.open(this.at(path))
  }
  override remove(path: string) {
    return super.remove(this.at(path))
  }
  override fileNames(path: string) {
    return super.fileNames(this.at(path))
  }
  override stamp(path: string) {
    return super.stamp(this.at(path))
  }
  override syncFolder(path: string) {
    return super.syncFolder(this.at(path))
  }
}

describe("an entry's file", () => {
  it('is named after its operation and its id', async () => {
    const dir = await tempFolder()
    const hf = await Holdfast.open({ config: {}, store: `files:${dir}`, env: {} })
    onTestFinished(() => hf.close())
    for (const [operation, itemId] of [
      ['Mail.sendNow', 'Ada@Example.com'],
      ['gmail_fetch', 'a/b c'],
      ['batch-7@eu', "it's (not) ~ so!"],
    ] as const) {
      const { dlqId } = await hf.deadLetters.enqueue({ operation, itemId, payload: 1 })
      const file = join(dir, 'dlq', operation, `${dlqId}.json`)
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ dlq_id: dlqId, item_id: itemId })
    }
    const { dlqId } = await hf.deadLetters.enqueue({ operation: 'a/b:c', itemId: 'x', payload: 1 })
    expect(existsSync(join(dir, 'dlq', encodeURIComponent('a/b:c'), `${dlqId}.json`))).toBe(true)
  })

  it.each([
    ['with case-sensitive names', () => new Disk()],
    ['with case-insensitive names', () => new CaseInsensitiveDisk()],
  ])('does not replace another file on a disk %s, for all similar ids and operations', async (_, made) => {
    const dir = await tempFolder()
    const ids = [
      'dlq_A',
      'dlq_a',
      'dlq_%41',
      'DLQ_A',
      'a/b',
      'a%2Fb',
      'A%2fB',
      '..',
      '.',
      'con',
      'CON',
      '%2E',
    ]
    const operations = ['Mail', 'mail', 'MAIL', 'a/b', 'a%2Fb']
    const entries = operations.flatMap((operationType, o) =>
      ids.map((id, n) => letter(o * 100 + n, { dlqId: o === 0 ? id : `${id}${o}`, operationType })),
    )
    const half = entries.length / 2
    const one = await opened(dir, made())
    await one.dlq.add(entries.slice(0, half), NO_LIMIT)
    const two = await opened(dir, made())
    for (const entry of entries.slice(half)) await two.dlq.add([entry], NO_LIMIT)
    const three = await opened(dir, made())
    for (const { dlq, warnings } of [one, two, three]) {
      const { items } = await dlq.list({ limit: 1000 }, at(0))
      expect(items.map(({ dlqId }) => dlqId).toSorted()).toEqual(entries.map(({ dlqId }) => dlqId).toSorted())
      expect(warnings).toEqual([])
    }
    await three.dlq.complete('dlq_a', at(9))
    expect((await one.dlq.get('dlq_A', at(9)))?.status).toBe('pending')
    expect((await one.dlq.get('dlq_a', at(9)))?.status).toBe('completed')
    expect(await one.dlq.purge({ ids: ['dlq_A'] }, at(9))).toBe(1)
    expect(await two.dlq.get('dlq_a', at(9))).toBeDefined()
  })

  it('does not replace a file that was skipped', async () => {
    const dir = await tempFolder()
    const { dlq } = await opened(dir)
    await dlq.add([letter(1)], NO_LIMIT)
    const copy = join(dir, 'dlq/gmail_fetch/dlq_2.json')
    await writeFile(copy, await readFile(join(dir, 'dlq/gmail_fetch/dlq_1.json')))
    await dlq.add([letter(2)], NO_LIMIT)
    expect(JSON.parse(await readFile(copy, 'utf8'))).toMatchObject({ dlq_id: 'dlq_1' })
    expect(await (await opened(dir)).dlq.get('dlq_2', at(0))).toEqual(letter(2))
  })

  it('is read under the file name of an earlier release, and keeps it', async () => {
    const dir = await tempFolder()
    const entry = letter(1, { dlqId: 'dlq_A%20b', operationType: 'Mail' })
    await mkdir(join(dir, 'dlq/%4dail'), { recursive: true })
    const old = join(dir, 'dlq/%4dail/dlq_%41%2520b.json')
    await writeFile(old, JSON.stringify(deadLetterCodec.encode(entry)))
    const { dlq } = await opened(dir)
    expect(await dlq.get(entry.dlqId, at(0))).toEqual(entry)
    await dlq.complete(entry.dlqId, at(2))
    expect(JSON.parse(await readFile(old, 'utf8'))).toMatchObject({ status: 'completed' })
    expect(await readdir(join(dir, 'dlq/%4dail'))).toHaveLength(1)
  })
})

describe('a dead letter that another program wrote', () => {
  const foreign = {
    dlq_id: 'dlq_20251106_101522_abc123',
    email_id: '19a3f3f856f0b4d4',
    operation_type: 'notion_write',
    status: 'pending',
    original_payload: { database_id: 'db_123', properties: { Title: { title: [{ text: 'Acme' }] } } },
    error_details: {
      error_type: 'CircuitBreakerOpen',
      error_message: 'Notion service degraded after 5 consecutive failures',
      stack_trace: 'Traceback...',
      retry_count: 3,
    },
    created_at: '2025-11-06T10:15:22.123Z',
    last_attempt: '2025-11-06T10:15:45.789Z',
    replayed_at: null,
    processed: false,
  }
  const put = async (dir: string, name: string, content: object) => {
    await mkdir(join(dir, 'dlq/notion_write'), { recursive: true })
    const file = join(dir, 'dlq/notion_write', `${name}.json`)
    await writeFile(file, JSON.stringify(content))
    return file
  }

  it('is listed from its file, and replayed once', async () => {
    const dir = await tempFolder()
    const file = await put(dir, foreign.dlq_id, foreign)
    const before = await readFile(file, 'utf8')
    const hf = await Holdfast.open({ config: {}, store: `files:${dir}`, env: {} })
    onTestFinished(() => hf.close())
    expect((await hf.deadLetters.list()).items).toMatchObject([
      {
        dlqId: foreign.dlq_id,
        itemId: '19a3f3f856f0b4d4',
        idempotencyKey: foreign.dlq_id,
        policyId: 'default',
        originalPayload: foreign.original_payload,
        lastAttempt: new Date('2025-11-06T10:15:45.789Z'),
      },
    ])
    expect(await readFile(file, 'utf8')).toBe(before)
    const replayed: unknown[] = []
    hf.deadLetters.handle('notion_write', (payload, { idempotencyKey, itemId }) => {
      replayed.push([payload, idempotencyKey, itemId])
    })
    expect(await hf.deadLetters.replayBatch()).toMatchObject({ succeeded: 1 })
    await hf.deadLetters.replay(foreign.dlq_id)
    expect(replayed).toEqual([[foreign.original_payload, foreign.dlq_id, foreign.email_id]])
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ status: 'completed', schema: '1.2' })
  })

  it('can have times without a zone, and is not replayed if it was processed', async () => {
    const dir = await tempFolder()
    const { created_at, ...rest } = foreign
    await put(dir, 'one', { ...rest, dlq_id: 'one', created_at: created_at.replace('Z', '456') })
    await put(dir, 'two', { ...foreign, dlq_id: 'two', processed: true })
    const { dlq } = await opened(dir)
    expect((await dlq.get('one', at(0)))?.createdAt).toEqual(new Date(created_at))
    expect(await dlq.lease('two', 'me', at(9), at(1))).toMatchObject({ result: 'done' })
  })

  it('is quarantined if a required field is missing, or if it is a damaged entry of this store', async () => {
    const dir = await tempFolder()
    const { original_payload: _, ...without } = foreign
    const { email_id: __, ...nothing } = foreign
    await put(dir, 'a', without)
    await put(dir, 'b', nothing)
    await put(dir, 'c', { ...foreign, status: 'lost' })
    await put(dir, 'd', { ...foreign, schema: '1.1' })
    await put(dir, 'e', { to: 'other' })
    await put(dir, 'f', [foreign])
    const { dlq, warnings } = await opened(dir)
    expect((await dlq.list(undefined, at(0))).items).toEqual([])
    expect(warnings).toHaveLength(6)
    expect(await readdir(join(dir, 'dlq/.damaged/notion_write'))).toHaveLength(6)
  })
})
