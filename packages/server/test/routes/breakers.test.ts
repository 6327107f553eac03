import { expect, test } from 'vitest'
import { failCall, open } from '../fixture.js'

const ids = (list: { id: string }[]) => list.map(({ id }) => id)

test('breakers are listed though never used, by state and by pool', async () => {
  const { ask, hf } = await open()
  const all = (await ask('GET', '/api/v1/circuit-breakers')).body.circuit_breakers
  expect(ids(all).toSorted()).toEqual([
    'policy:guarded',
    'pool:proxies:p1',
    'pool:proxies:p2',
    'service:notion',
  ])
  await failCall(hf, 'guarded')
  await failCall(hf, 'guarded')
  const opened = (await ask('GET', '/api/v1/circuit-breakers?state=open')).body.circuit_breakers
  expect(opened).toMatchObject([
    { id: 'policy:guarded', failure_count: 2, next_test_time: '2026-01-29T12:01:00.000Z' },
  ])
  const pooled = (await ask('GET', '/api/v1/circuit-breakers?pool=proxies')).body.circuit_breakers
  expect(ids(pooled)).toEqual(['pool:proxies:p1', 'pool:proxies:p2'])
  expect(await ask('GET', '/api/v1/circuit-breakers?state=ajar')).toMatchObject({ status: 400 })
})

test('a page of breakers makes none but those on it', async () => {
  const members = Array.from({ length: 50 }, (_, i) => ({ id: `m/${i}`, url: `http://10.0.0.${i}:80` }))
  const { ask, hf } = await open({}, { version: '1.1.0', pools: { 'big one': { members } } })
  const pool = hf.pools.get('big one')
  expect(await ask('POST', '/api/v1/circuit-breakers/pool%3Abig%2520one%3Am%252F49/trip')).toMatchObject({
    status: 200,
  })
  const opened = (await ask('GET', '/api/v1/circuit-breakers?state=open')).body.circuit_breakers
  expect(ids(opened)).toEqual(['pool:big%20one:m%2F49'])
  const { body } = await ask('GET', '/api/v1/circuit-breakers?state=closed&limit=10')
  expect(ids(body.circuit_breakers)).toEqual(
    members.slice(0, 10).map(({ id }) => `pool:big%20one:${encodeURIComponent(id)}`),
  )
  expect(await hf.health()).toMatchObject({ circuitBreakers: { total: 50, open: 1, halfOpen: 0 } })
  expect(pool.usedBreakers()).toHaveLength(11)
})

test('thousands of breakers are paged through, each once', async () => {
  const members = Array.from({ length: 3000 }, (_, i) => ({
    id: `m${i}`,
    url: `http://10.0.${i >> 8}.${i & 255}:80`,
  }))
  const { ask } = await open({}, { version: '1.1.0', pools: { big: { members } } })
  const seen: string[] = []
  let cursor = ''
  do {
    const { body } = await ask('GET', `/api/v1/circuit-breakers?limit=700${cursor}`)
    seen.push(...ids(body.circuit_breakers))
    cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
  } while (cursor !== '')
  expect(new Set(seen).size).toBe(3000)
  expect(seen).toHaveLength(3000)
})

test('a breaker is tripped and reset, its changes are recorded, and both commands are audited', async () => {
  const { ask, hf, clock } = await open()
  const path = '/api/v1/circuit-breakers/service%3Anotion'
  const tripped = await ask('POST', `${path}/trip`, { body: { reason: 'maintenance' } })
  expect(tripped).toMatchObject({ status: 200, body: { id: 'service:notion', state: 'open' } })
  await clock.advance(1000)
  expect(await ask('POST', `${path}/reset`)).toMatchObject({ status: 200, body: { state: 'closed' } })
  await clock.advance(1000)
  const { events } = (await ask('GET', '/api/v1/circuit-breakers/metrics?hours=1')).body
  expect(events).toMatchObject([
    { id: 'service:notion', from_state: 'open', to_state: 'closed', timestamp: '2026-01-29T12:00:01.000Z' },
    { id: 'service:notion', from_state: 'closed', to_state: 'open', timestamp: '2026-01-29T12:00:00.000Z' },
  ])
  const { items } = await hf.audit.list()
  expect(items).toMatchObject([
    { action: 'breaker.reset', target: 'service:notion', actor: 'local' },
    { action: 'breaker.trip', target: 'service:notion', actor: 'local', reason: 'maintenance' },
  ])
})

test.each(['', '/trip', '/reset'])('an unknown breaker is not found%s', async (act) => {
  const { ask } = await open()
  const answer = await ask(act === '' ? 'GET' : 'POST', `/api/v1/circuit-breakers/service%3Anobody${act}`)
  expect(answer).toMatchObject({ status: 404, body: { error: 'NOT_FOUND' } })
})

test.each([
  ['/circuit-breakers/metrics?hours=0', 400],
  ['/circuit-breakers/metrics?hours=169', 400],
  ['/circuit-breakers/metrics?hours=168', 200],
  ['/metrics/retries/timeseries?hours=1', 200],
  ['/metrics/retries/timeseries?hours=', 400],
  ['/metrics/retries/timeseries?hours=1.5', 400],
  ['/metrics/retries/timeseries?step=day', 200],
  ['/metrics/retries/timeseries?step=week', 400],
  ['/metrics/retries/by-proxy?hours=169', 400],
  ['/metrics/window?from=2026-01-29T11:00:00Z&to=2026-01-29T12:00:00Z', 200],
  ['/metrics/window?from=yesterday', 400],
  ['/metrics/window?from=2026-01-30T00:00:00Z&to=2026-01-29T00:00:00Z', 400],
  ['/sessions?limit=0', 400],
  ['/sessions?limit=1001', 400],
  ['/sessions?limit=1&limit=2', 400],
  ['/sessions?cursor=nonsense', 400],
  ['/sessions?active=maybe', 400],
  ['/sessions?operations=x', 400],
])('%s is answered %i', async (path, status) => {
  const { ask } = await open()
  const answer = await ask('GET', `/api/v1${path}`)
  expect(answer.status).toBe(status)
  if (status === 400) expect(answer.body.message).toMatch(/\w+/)
})

test('a breaker is tripped for a duration or until it is reset', async () => {
  const { ask } = await open()
  const trip = (body: object) => ask('POST', '/api/v1/circuit-breakers/service%3Anotion/trip', { body })
  expect(await trip({ duration: 600, reason: 'maintenance' })).toMatchObject({
    status: 200,
    body: { state: 'open', next_test_time: '2026-01-29T12:10:00.000Z', trip_duration: 600 },
  })
  expect(await trip({ duration: 'Infinity' })).toMatchObject({
    body: { state: 'open', next_test_time: '2027-01-29T12:00:00.000Z' },
  })
  expect((await trip({})).body).not.toHaveProperty('trip_duration')
  for (const duration of [0, -1, '10m', null])
    expect(await trip({ duration })).toMatchObject({ status: 400, body: { details: [{ path: 'duration' }] } })
  expect((await ask('GET', '/api/v1/audit?target=service%3Anotion')).body.items.at(-1)).toMatchObject({
    action: 'breaker.trip',
    reason: 'maintenance',
  })
})
