import { byMemberCodec, toWire } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { type Fixture, failCall, open } from '../fixture.js'

/** Asks for a list whose items the runtime has already read, and counts the turns of the event loop until the answer. */
async function askAndCountTurns({ ask }: Fixture, path: string) {
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  onTestFinished(() => clearImmediate(next))
  const { status, headers, body } = await ask('GET', path)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toMatch(path === '/metrics' ? /^text\/plain;/ : /^application\/json/)
  return { turns, body }
}

test.each([
  ['/api/v1/dead-letters', 'deadLetters', 'items'],
  ['/api/v1/sessions', 'sessions', 'items'],
  ['/api/v1/errors', 'errors', 'items'],
  ['/api/v1/audit', 'audit', 'items'],
  ['/api/v1/circuit-breakers/metrics', 'breakers', 'events'],
] as const)(
  'a long list of %s is serialized in several turns of the event loop',
  async (path, part, name) => {
    const server = await open()
    const { hf, ask } = server
    for (let i = 0; i < 2; i++) await failCall(hf, 'guarded', { payload: { to: 'ann' } })
    const [entry] = (await hf.deadLetters.list()).items
    await hf.deadLetters.complete(entry?.dlqId as string, { by: 'ann' })
    const method = part === 'breakers' ? 'events' : 'list'
    const list = hf[part] as unknown as Record<string, () => Promise<{ items: unknown[] }>>
    const items = (await list[method]?.())?.items ?? []
    const short = (await ask('GET', path)).body
    expect(short[name].length).toBeGreaterThan(0)
    Object.assign(hf[part], {
      [method]: async () => ({ items: Array.from({ length: 1000 }, () => items[0]), cursor: 'next' }),
    })
    const { turns, body } = await askAndCountTurns(server, path)
    expect(turns).toBeGreaterThanOrEqual(19)
    expect(body).toEqual({ [name]: Array.from({ length: 1000 }, () => short[name][0]), cursor: 'next' })
  },
)

const manyMembers = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    id: `m${i}`,
    url: `http://ann:hunter2@10.0.${i >> 8}.${i & 255}:80`,
  }))

test('a long page of breakers is serialized in several turns of the event loop', async () => {
  const server = await open({}, { version: '1.1.0', pools: { big: { members: manyMembers(1000) } } })
  const { turns, body } = await askAndCountTurns(server, '/api/v1/circuit-breakers?limit=1000')
  expect(turns).toBeGreaterThanOrEqual(19)
  expect(body.circuit_breakers).toEqual((await server.hf.breakers.list()).map((breaker) => toWire(breaker)))
  expect(body.circuit_breakers).toHaveLength(1000)
})

test('the metrics of many members are serialized in several turns of the event loop', async () => {
  const server = await open()
  const member = {
    proxyId: 'm',
    totalAttempts: 3,
    successCount: 2,
    failureCount: 1,
    avgLatency: 250,
    circuitBreakerOpens: 1,
  }
  const metrics = {
    proxies: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a "${i}"`, member])),
  }
  Object.assign(server.hf.metrics, { byMember: async () => metrics })
  const { turns, body } = await askAndCountTurns(server, '/api/v1/metrics/retries/by-proxy')
  expect(turns).toBeGreaterThanOrEqual(19)
  expect(body).toEqual(byMemberCodec.encode(metrics))
})

test('the members of each pool are counted in a turn of the event loop', async () => {
  const pools = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`p${i}`, { members: manyMembers(3) }]),
  )
  const server = await open({}, { version: '1.1.0', pools })
  const { turns, body } = await askAndCountTurns(server, '/api/v1/pools?limit=100')
  expect(turns).toBeGreaterThanOrEqual(40)
  expect(body.items).toEqual(Object.keys(pools).map((id) => ({ id, size: 3, by_status: { available: 3 } })))
})

test('a configuration with many members and policies is encoded in many turns of the event loop', async () => {
  const names = Array.from({ length: 500 }, (_, i) => `operation ${i}`)
  const server = await open(
    {},
    {
      version: '1.1.0',
      policies: Object.fromEntries(names.map((name) => [name, { maxAttempts: 2 }])),
      pools: { big: { members: manyMembers(5000), strategy: 'score' } },
    },
  )
  const { turns, body } = await askAndCountTurns(server, '/api/v1/config')
  expect(turns).toBeGreaterThanOrEqual(100)
  expect(body).toMatchObject({
    policies: Object.fromEntries(names.map((name) => [name, { max_attempts: 2 }])),
    pools: {
      big: {
        strategy: 'score',
        members: manyMembers(5000).map(({ id, url }) => ({
          id,
          url: url.replace('ann:hunter2', '[redacted]'),
        })),
      },
    },
  })
})

test('the metrics of many operations are formatted for Prometheus in several turns of the event loop', async () => {
  const server = await open()
  for (let i = 0; i < 200; i++) await server.hf.run(`operation ${i}`, async () => 1)
  const { turns, body } = await askAndCountTurns(server, '/metrics')
  expect(turns).toBeGreaterThanOrEqual(14)
  for (let i = 0; i < 200; i++)
    expect(body).toContain(`holdfast_call_duration_seconds_count{operation="operation ${i}"} 1\n`)
})
