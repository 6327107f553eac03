import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { classify } from 'holdfast'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ErrorLogOptions } from '../../../config/src/resolve/error-log-options.js'
import { errorRecordCodec, errorRecordSchema } from '../../../records/src/errors.js'
import { ErrorLog } from '../../src/error-log/error-log.js'
import { type TestKit, testKit } from './setup.js'

const status = (code: number) => Object.assign(new Error(`answered ${code}`), { status: code })

let kit: TestKit
let options: ErrorLogOptions
let log: ErrorLog

beforeEach(() => {
  kit = testKit()
  options = {}
  log = new ErrorLog(kit, () => options)
})

const fail = (error: unknown, more: Partial<Parameters<ErrorLog['recordFailure']>[0]> = {}) =>
  log.recordFailure({
    error,
    classification: classify(error),
    operation: 'gmail_fetch',
    willRetry: false,
    retryCount: 2,
    ...more,
  })

describe('an error record', () => {
  it('describes a failed attempt with its context', async () => {
    const record = fail(status(503), {
      itemId: 'm1',
      sessionId: 's1',
      context: { email_id: '19a', userName: 'ann' },
    })
    expect(record).toEqual({
      schema: '1.2',
      timestamp: new Date(Date.UTC(2026, 0, 29, 12)),
      severity: 'ERROR',
      category: 'TRANSIENT',
      message: 'answered 503',
      errorType: 'Error',
      context: { email_id: '19a', userName: 'ann', operation: 'gmail_fetch', item_id: 'm1' },
      httpStatus: 503,
      retryCount: 2,
      kind: 'server_error',
      sessionId: 's1',
    })
    expect(errorRecordSchema.safeParse(errorRecordCodec.encode(record)).success).toBe(true)
    expect((await log.list()).items).toEqual([record])
  })

  it.each([
    [503, true, 'WARNING', 'TRANSIENT'],
    [503, false, 'ERROR', 'TRANSIENT'],
    [404, false, 'ERROR', 'PERMANENT'],
    [401, false, 'CRITICAL', 'CRITICAL'],
  ])(
    'of a %s with willRetry %s has the severity %s and the category %s',
    (code, willRetry, severity, category) => {
      expect(fail(status(code), { willRetry })).toMatchObject({ severity, category })
    },
  )

  it('of a breaker that opened has the severity of a warning', () => {
    expect(log.recordOpening({ id: 'service:notion', failureCount: 5 })).toMatchObject({
      severity: 'WARNING',
      category: 'TRANSIENT',
      message: 'circuit breaker service:notion opened after 5 failures',
      context: { operation: 'service:notion', circuit_breaker: 'service:notion' },
    })
  })

  it('has a stack, with those of its causes, only while debugging is on', () => {
    const error = new Error('outer', { cause: new Error('inner password=p1') })
    expect(fail(error).stackTrace).toBeUndefined()
    kit.debugging = true
    const { stackTrace } = fail(error)
    expect(stackTrace).toContain('error-log.test')
    expect(stackTrace).toContain('Caused by: Error: inner password=[redacted]')
  })

  it('contains no secret', () => {
    const record = fail(new Error('GET http://ann:pw1@host/?token=t1 failed'), {
      context: { headers: { Authorization: 'Bearer b1' }, url: 'http://u:pw2@h/' },
    })
    expect(JSON.stringify(record)).not.toMatch(/pw1|t1|b1|pw2/)
  })

  it.each([undefined, null, '', 'text', 7, { message: '' }, new Error('')])(
    'of the thrown value %s has a message and a type',
    (thrown) => {
      const record = fail(thrown, { classification: undefined })
      expect(record).toMatchObject({ category: 'TRANSIENT', kind: 'unknown' })
      expect(errorRecordSchema.safeParse(errorRecordCodec.encode(record)).success).toBe(true)
    },
  )

  it('is counted by operation', () => {
    fail(status(503), { willRetry: true })
    fail(status(503))
    fail(status(401), { operation: 'notion_write' })
    expect(log.counts()).toEqual({
      gmail_fetch: { total: 2, bySeverity: { WARNING: 1, ERROR: 1 } },
      notion_write: { total: 1, bySeverity: { CRITICAL: 1 } },
    })
  })
})

describe('the store of error records', () => {
  it('gets records automatically, in batches and in order', async () => {
    const batches: number[] = []
    const { append } = kit.store.errors
    kit.store.errors.append = (records) => {
      batches.push(records.length)
      return append.call(kit.store.errors, records)
    }
    for (let i = 0; i < 20; i++) fail(new Error(`no ${i}`))
    expect(batches).toEqual([])
    await kit.clock.advance(1000)
    expect(batches).toEqual([20])
    const { items } = await log.list({ limit: 2 })
    expect(items.map(({ message }) => message)).toEqual(['no 19', 'no 18'])
  })

  it('causes at most one warning per minute while it fails, and gets the records afterwards', async () => {
    let broken = true
    const { append } = kit.store.errors
    kit.store.errors.append = async (records) => {
      if (broken) throw new Error('no space on postgres://u:pw@h/db')
      await append.call(kit.store.errors, records)
    }
    for (let i = 0; i < 30; i++) {
      fail(new Error(`no ${i}`))
      await kit.clock.advance(1000)
    }
    expect(kit.complaints).toEqual([
      'holdfast: error records could not be written to the store, calls are not affected: no space on postgres://[redacted]@h/db',
    ])
    broken = false
    await log.flush()
    expect((await log.list({ limit: 100 })).items).toHaveLength(30)
  })

  it('loses records if it fails for too long, which an event reports', async () => {
    let broken = true
    const { append } = kit.store.errors
    kit.store.errors.append = async (records) => {
      if (broken) throw new Error('no')
      await append.call(kit.store.errors, records)
    }
    for (let i = 0; i < 5010; i++) fail('x')
    await log.flush()
    broken = false
    await log.flush()
    expect(kit.events).toEqual([
      expect.objectContaining({
        eventType: 'events_dropped',
        context: { records: 'error_records', dropped: 10 },
      }),
    ])
  })
})

describe('error log files', () => {
  let dir: string
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'holdfast-errors-'))
    options = { dir: join(dir, 'logs') }
  })
  afterEach(async () => {
    await chmod(dir, 0o700)
    await rm(dir, { recursive: true, force: true })
  })
  const lines = async (file: string) => {
    const text = await readFile(join(dir, 'logs', file), 'utf8')
    return text.split('\n').filter(Boolean)
  }

  it('are separated by severity and day, have one object per line, and only the owner can read them', async () => {
    fail(status(503), { willRetry: true })
    fail(status(503))
    fail(status(401))
    await log.flush()
    const [line, ...rest] = await lines('ERROR/errors_2026-01-29.jsonl')
    expect(rest).toEqual([])
    expect(JSON.parse(line as string)).toMatchObject({
      timestamp: '2026-01-29T12:00:00.000Z',
      error_type: 'Error',
      http_status: 503,
      retry_count: 2,
    })
    expect(await lines('WARNING/errors_2026-01-29.jsonl')).toHaveLength(1)
    expect(await lines('CRITICAL/errors_2026-01-29.jsonl')).toHaveLength(1)
    expect((await stat(join(dir, 'logs', 'ERROR'))).mode & 0o777).toBe(0o700)
    expect((await stat(join(dir, 'logs', 'ERROR/errors_2026-01-29.jsonl'))).mode & 0o777).toBe(0o600)
  })

  it('are rotated when they are full', async () => {
    options = { ...options, maxSize: 1000 }
    for (let i = 0; i < 10; i++) fail(new Error(`number ${i} ${'x'.repeat(100)}`))
    await log.flush()
    const names = (await readdir(join(dir, 'logs/ERROR'))).toSorted()
    expect(names.length).toBeGreaterThan(2)
    expect(names).toContain('errors_2026-01-29.1.jsonl')
    const all: string[] = []
    for (const name of names) {
      expect((await stat(join(dir, 'logs/ERROR', name))).size).toBeLessThanOrEqual(1000)
      all.push(...(await lines(`ERROR/${name}`)))
    }
    expect(all).toHaveLength(10)
  })

  it('are deleted after max_age, and other files are not', async () => {
    fail('x')
    await log.flush()
    const folder = join(dir, 'logs/ERROR')
    for (const name of [
      'errors_2026-01-10.jsonl',
      'errors_2026-01-10.3.jsonl',
      'errors_2026-01-20.jsonl',
      'notes.txt',
    ])
      await writeFile(join(folder, name), '')
    await kit.clock.advance(3_600_000)
    kit.clock.stepWall(400 * 86_400_000)
    fail('y')
    await log.flush()
    expect((await readdir(folder)).toSorted()).toEqual([
      'errors_2026-01-20.jsonl',
      'errors_2026-01-29.jsonl',
      'errors_2027-03-05.jsonl',
      'notes.txt',
    ])
  })

  it('continue on a new line if the last line is incomplete', async () => {
    fail('x')
    await log.flush()
    const file = join(dir, 'logs/ERROR/errors_2026-01-29.jsonl')
    await writeFile(file, '{"half', { flag: 'a' })
    fail('y')
    await log.flush()
    const [first, half, last] = await lines('ERROR/errors_2026-01-29.jsonl')
    expect(JSON.parse(first as string)).toMatchObject({ message: 'x' })
    expect(half).toBe('{"half')
    expect(JSON.parse(last as string)).toMatchObject({ message: 'y' })
  })

  it('that cannot be written cause one warning, and the store gets the records', async () => {
    await writeFile(join(dir, 'logs'), 'a file where the folder should be')
    for (let i = 0; i < 5; i++) {
      fail('x')
      await kit.clock.advance(2000)
      await log.flush()
    }
    expect(kit.complaints).toHaveLength(1)
    expect(kit.complaints[0]).toMatch(
      /^holdfast: error records could not be written to the error log, calls are not affected: /,
    )
    expect((await log.list()).items).toHaveLength(5)
    await log.close()
    expect(kit.events).toEqual([
      expect.objectContaining({ eventType: 'events_dropped', context: { records: 'error_log', dropped: 5 } }),
    ])
  })
})
