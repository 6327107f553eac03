import { classify } from 'holdfast'
import { expect, it, vi } from 'vitest'
import { ErrorLog } from '../../src/error-log/error-log.js'
import { testKit } from '../error-log/setup.js'

function setUp() {
  const kit = testKit()
  const log = new ErrorLog(kit, () => ({}))
  const fail = (message: string) => {
    const error = new Error(message)
    log.recordFailure({
      error,
      classification: classify(error),
      operation: 'fetch',
      willRetry: false,
      retryCount: 0,
    })
  }
  return { list: vi.spyOn(kit.store.errors, 'list'), log, fail }
}

it('error groups: callers that wait for the same groups share one read', async () => {
  const { list, log, fail } = setUp()
  fail('order 1 failed')
  const results = await Promise.all([1, 2, 3].map((limit) => log.groups({ limit })))
  expect(list).toHaveBeenCalledTimes(1)
  expect(results.map(({ items }) => items[0]?.count)).toEqual([1, 1, 1])
  // A caller can change its result.
  results[0]?.from.setTime(0)
  expect(results[1]?.from.getTime()).toBeGreaterThan(0)
})

it('error groups: a caller does not share a read that has started, which misses newer records', async () => {
  const { list, log, fail } = setUp()
  fail('order 1 failed')
  let goOn = () => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  list.mockImplementationOnce(async () => {
    await held
    return { items: [] }
  })
  const first = log.groups()
  await vi.waitFor(() => expect(list).toHaveBeenCalledTimes(1))
  fail('order 2 failed')
  const second = log.groups()
  const other = log.groups({ operation: 'other' })
  goOn()
  expect((await first).items).toEqual([])
  expect((await second).items[0]?.count).toBe(2)
  expect((await other).items).toEqual([])
  expect(list).toHaveBeenCalledTimes(3)
})

it('error groups: a read that failed does not fail the next one', async () => {
  const { list, log, fail } = setUp()
  fail('order 1 failed')
  list.mockRejectedValueOnce(new Error('the store is not available'))
  const first = log.groups()
  const second = log.group('unknown')
  await expect(first).rejects.toThrow('the store is not available')
  expect(await second).toBeUndefined()
  expect((await log.groups()).items).toHaveLength(1)
})
