import { expect, test } from 'vitest'
import { open } from '../fixture.js'

/** Without retries, whose waits would need the clock. */
const ONCE = { policy: { maxAttempts: 1 } }

const failing =
  (message: string, more: object = {}) =>
  () =>
    Promise.reject(Object.assign(new Error(message), more))

test('errors are grouped by kind, message and operation, the largest group first', async () => {
  const { ask, hf } = await open()
  const run = (operation: string, fn: () => Promise<never>) => hf.run(operation, fn, ONCE).catch(() => {})
  for (const order of [1, 22, 333]) await run('orders', failing(`order ${order} does not exist`))
  await run('orders', failing('answered 404', { status: 404 }))
  await run('mails', failing('order 4 does not exist'))
  const { status, body } = await ask('GET', '/api/v1/errors/groups')
  expect(status).toBe(200)
  expect(body).toMatchObject({ complete: true, scanned: 5 })
  expect(
    body.items.map(({ operation, message, count }: Record<string, unknown>) => [operation, message, count]),
  ).toEqual([
    ['orders', 'order <n> does not exist', 3],
    ['mails', 'order <n> does not exist', 1],
    ['orders', 'answered 404', 1],
  ])
  const [largest] = body.items
  expect(largest.trend).toHaveLength(24)
  expect(largest.trend.reduce((sum: number, count: number) => sum + count, 0)).toBe(3)
  expect(largest.session_id).toEqual(expect.any(String))

  const one = await ask('GET', `/api/v1/errors/groups/${largest.group_id}`)
  expect(one.body).toMatchObject({ count: 3, kind: largest.kind })
  expect(one.body.records.map(({ message }: { message: string }) => message)).toEqual([
    'order 333 does not exist',
    'order 22 does not exist',
    'order 1 does not exist',
  ])
})

test('groups of errors can be filtered, and an unknown group is not found', async () => {
  const { ask, hf } = await open()
  await hf.run('orders', failing('too many requests', { status: 429 }), ONCE).catch(() => {})
  await hf.run('orders', failing('bad request', { status: 400 }), ONCE).catch(() => {})
  const kinds = async (query: string) =>
    (await ask('GET', `/api/v1/errors/groups?${query}`)).body.items.map(({ kind }: { kind: string }) => kind)
  expect(await kinds('kind=rate_limited')).toEqual(['rate_limited'])
  expect(await kinds('operation=none')).toEqual([])
  expect(await kinds('to=2020-01-01T00:00:00Z')).toEqual([])
  expect((await kinds('limit=1')).length).toBe(1)
  expect((await ask('GET', '/api/v1/errors/groups/ffffffffffffffff')).status).toBe(404)
  expect((await ask('GET', '/api/v1/errors/groups?cursor=x')).status).toBe(400)
})
