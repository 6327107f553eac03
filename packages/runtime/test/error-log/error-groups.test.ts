import { classify } from 'holdfast'
import { describe, expect, it } from 'vitest'
import type { ErrorRecord } from '../../../records/src/errors.js'
import type { ErrorFilter, Page } from '../../../store/src/journals.js'
import { ErrorLog } from '../../src/error-log/error-log.js'
import { normalizeMessage } from '../../src/error-log/normalize-message.js'
import { testKit } from './setup.js'

describe('a normalized message', () => {
  it.each([
    ['order 12 of user_7 was not found', 'order <n> of user_<n> was not found'],
    ['timeout after 1500.5 ms', 'timeout after <n> ms'],
    ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED <address>'],
    ['id 3f2c8a10-9d1e-4b1a-8c55-0a1b2c3d4e5f is locked', 'id <uuid> is locked'],
    ['at 2026-01-29T12:00:00.123Z', 'at <time>'],
    ['mail to ann@example.com failed', 'mail to <email> failed'],
    ['commit 9fceb02d0ae598e95dc970b74767f193', 'commit <hex>'],
    ['session fetch_1769688000000_k3j9x2ab', 'session fetch_<hex>_<id>'],
    ['decade facade feedback', 'decade facade feedback'],
  ])('has placeholders for the parts that differ: %s', (message, expected) => {
    expect(normalizeMessage(message)).toBe(expected)
  })

  it('keeps the HTTP status, and is at most 300 characters long', () => {
    expect(normalizeMessage('answered 503 after 20 ms', 503)).toBe('answered 503 after <n> ms')
    expect(normalizeMessage('x'.repeat(5000))).toHaveLength(300)
  })

  it('takes little time for a hostile text', () => {
    // Processor time, because other processes of a busy machine lengthen the elapsed time.
    const start = process.cpuUsage()
    for (const text of ['a1'.repeat(5000), '1.'.repeat(5000), 'a@'.repeat(5000), 'a'.repeat(5000)])
      for (let n = 0; n < 100; n++) normalizeMessage(text)
    const { user, system } = process.cpuUsage(start)
    expect(user + system).toBeLessThan(2_000_000)
  })
})

describe('groups of error records', () => {
  const setUp = () => {
    const kit = testKit()
    const log = new ErrorLog(kit, () => ({}))
    const fail = (message: string, operation = 'fetch') => {
      const error = new Error(message)
      return log.recordFailure({
        error,
        classification: classify(error),
        operation,
        willRetry: false,
        retryCount: 0,
        sessionId: `${operation}_${message}`,
      })
    }
    return { kit, log, fail }
  }

  it('have counts, times, a trend over the time range and the session of the newest record', async () => {
    const { kit, log, fail } = setUp()
    const start = kit.clock.wall()
    fail('order 1 failed')
    await kit.clock.advance(3_600_000)
    fail('order 2 failed')
    fail('order 3 failed')
    await kit.clock.advance(3_600_000)
    const range = { from: new Date(start), to: new Date(start + 24 * 3_600_000) }
    const { items } = await log.groups(range)
    expect(items).toHaveLength(1)
    expect(items[0]).toMatchObject({
      message: 'order <n> failed',
      operation: 'fetch',
      count: 3,
      firstSeen: new Date(start),
      lastSeen: new Date(start + 3_600_000),
      sessionId: 'fetch_order 3 failed',
    })
    expect(items[0]?.trend.slice(0, 3)).toEqual([1, 2, 0])
  })

  it('cover the last 24 hours by default', async () => {
    const { kit, log, fail } = setUp()
    fail('old')
    await kit.clock.advance(25 * 3_600_000)
    fail('new')
    const { items, complete } = await log.groups()
    expect([items.map(({ message }) => message), complete]).toEqual([['new'], true])
  })

  it('are made of the newest 20,000 records, and state the start of the time range that these cover', async () => {
    const { kit, log, fail } = setUp()
    const record = fail('storm')
    await log.flush()
    // A memory store keeps fewer records.
    const list = async ({ cursor = '0', limit = 0 }: ErrorFilter = {}): Promise<Page<ErrorRecord>> => ({
      items: Array.from({ length: limit }, (_, n) => ({
        ...record,
        timestamp: new Date(kit.clock.wall() - Number(cursor) - n),
      })),
      cursor: String(Number(cursor) + limit),
    })
    Object.assign(kit.store.errors, { list })
    const { items, scanned, complete, from } = await log.groups()
    expect([items[0]?.count, scanned, complete]).toEqual([20_000, 20_000, false])
    expect(from).toEqual(new Date(kit.clock.wall() - 19_999))
  })

  it('have the same id in every time range, by which one group is read with its newest records', async () => {
    const { log, fail } = setUp()
    for (let n = 0; n < 120; n++) fail(`order ${n} failed`)
    fail('another')
    const [largest] = (await log.groups({ limit: 1 })).items
    const group = await log.group(largest?.groupId ?? '')
    expect([group?.count, group?.records.length, group?.records[0]?.message]).toEqual([
      120,
      100,
      'order 119 failed',
    ])
    expect(await log.group('unknown')).toBeUndefined()
  })
})
