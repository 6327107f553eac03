import { Agent, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFetch, type FetchTarget } from '../../src/http/index.js'
import { type GuardEvent, Pool } from '../../src/index.js'
import { resilience } from '../../src/undici/index.js'
import { problemsOf } from '../breaker/setup.js'
import { immediate, serve } from './server.js'

const pooled = (...values: unknown[]) =>
  new Pool<FetchTarget>({
    id: 'p',
    members: values.map((value, i) => ({ id: `m${i}`, value: value as FetchTarget })),
  })

const agent = (pool: Pool<FetchTarget>) => {
  const plain = new Agent()
  onTestFinished(() => plain.destroy())
  return plain.compose(resilience({ pool, retry: immediate }))
}

describe('the origin of a pool member', () => {
  it.each([
    ['/v1', '/chat', '/v1/chat'],
    ['/v1/', '/chat', '/v1/chat'],
    ['/v1', '/', '/v1/'],
    ['/', '/chat?a=1#h', '/chat?a=1'],
    ['', '', '/'],
    ['/a/b/', '/c%2Fd/?x=%20', '/a/b/c%2Fd/?x=%20'],
  ])('with the path %j sends a request for %j to %j', async (base, path, arrived) => {
    const server = await serve()
    const pool = pooled({ origin: `${server.url}${base}` })
    await createFetch({ pool })(`http://logical.example${path}`)
    await createFetch({ pool })(new Request(`http://logical.example${path}`))
    await request(`http://logical.example${path.split('#')[0]}`, { dispatcher: agent(pool) })
    expect(server.seen.map(({ url }) => url)).toEqual([arrived, arrived, arrived])
  })

  it('prepends its path to a relative URL', async () => {
    const server = await serve()
    const send = createFetch({ pool: pooled({ origin: new URL(`${server.url}/v1/`) }) })
    await send('/chat?x')
    await send('chat')
    expect(server.seen.map(({ url }) => url)).toEqual(['/v1/chat?x', '/v1/chat'])
  })
})

describe('the value of a pool member', () => {
  const KEYS = 'origin, fetch, dispatcher, headers'

  it.each([
    [undefined, `expected an object with one of ${KEYS}, got undefined`],
    ['http://a.example', `expected an object with one of ${KEYS}, got "http://a.example"`],
    [{}, `expected one of ${KEYS}, got none of them`],
    [{ origin: undefined }, `expected one of ${KEYS}, got none of them`],
  ])('is rejected when it is %j', (value, problem) => {
    expect(problemsOf(() => createFetch({ pool: pooled(value) }))).toEqual([`pool.m0: ${problem}`])
    expect(problemsOf(() => resilience({ pool: pooled(value) }))).toEqual([`pool.m0: ${problem}`])
  })

  it('is rejected with an unknown key, and the most similar key is suggested', () => {
    const pool = pooled({ orgin: 'http://a.example' }, { origin: 'http://a.example', color: 'red' })
    expect(problemsOf(() => createFetch({ pool }))).toEqual([
      `pool.m0.orgin: expected one of ${KEYS}, got an unknown key; did you mean origin?`,
      `pool.m1.color: expected one of ${KEYS}, got an unknown key`,
    ])
  })

  it.each([
    'not a url',
    'ftp://a.example',
    'http://a.example?x=1',
    'http://a.example/#x',
    'http://u:secret@a.example',
    7,
  ])('is rejected with the origin %j without revealing credentials', (origin) => {
    const [problem] = problemsOf(() => createFetch({ pool: pooled({ origin }) }))
    expect(problem).toMatch(/^pool\.m0\.origin: expected an http or https origin/)
    expect(problem).not.toContain('secret')
  })

  it('is rejected with a fetch, a dispatcher or headers of another type', () => {
    const pool = pooled({ fetch: 1 }, { dispatcher: 'x' }, { headers: { 'a b': 'secret' } })
    expect(problemsOf(() => createFetch({ pool }))).toEqual([
      'pool.m0.fetch: expected a function, got 1',
      'pool.m1.dispatcher: expected an object, got "x"',
      'pool.m2.headers: expected headers as fetch takes them, got an object',
    ])
  })

  it('is validated at the first use of a member that was added later', async () => {
    const pool = new Pool<FetchTarget>({ id: 'p' })
    const send = createFetch({ pool, retry: immediate })
    const dispatcher = agent(pool)
    pool.add({ id: 'late', value: { orgin: 'http://a.example' } as never })
    await expect(send('http://x.example')).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    expect(pool.stats('late').failureCount).toBe(0)
    await expect(request('http://x.example', { dispatcher })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })

  it('can be an instance of a class with other properties', async () => {
    const server = await serve()
    class Endpoint {
      readonly note = 'mine'
      get origin() {
        return server.url
      }
    }
    expect((await createFetch({ pool: pooled(new Endpoint()) })('/x')).status).toBe(200)
  })
})

it('the error of invalid member headers does not contain a string value', () => {
  expect(() => createFetch({ pool: pooled({ headers: 'Bearer sk-secret' }) })).toThrow(
    /pool\.m0\.headers: expected headers as fetch takes them, got a string/,
  )
})

describe('the headers of a pool member', () => {
  const headers = { Authorization: 'Bearer member', 'X-Api-Key': 'member' }
  const own = { authorization: 'Bearer caller', 'x-api-key': 'caller', 'x-other': 'kept' }
  const wanted = { authorization: 'Bearer member', 'x-api-key': 'member', 'x-other': 'kept' }

  it('replace those of the caller, in any case and form', async () => {
    const server = await serve()
    for (const given of [headers, new Headers(headers), Object.entries(headers) as [string, string][]]) {
      const send = createFetch({ pool: pooled({ origin: server.url, headers: given }) })
      await send('http://x.example', { headers: own })
      await send(new Request('http://x.example', { headers: own }))
      await createFetch({ pool: pooled({ headers: given }) })(
        new Request(server.url, { method: 'POST', body: 'b', headers: own }),
      )
    }
    expect(server.seen).toHaveLength(9)
    for (const seen of server.seen) expect(seen.headers).toMatchObject(wanted)
    expect(server.seen[2]?.body).toBe('b')
  })

  it('are those of the selected member', async () => {
    const server = await serve(503)
    const pool = pooled(
      { origin: server.url, headers: { 'x-api-key': 'one', 'x-org': 'one' } },
      { origin: server.url, headers: { 'x-api-key': 'two' } },
    )
    await createFetch({ pool, retry: immediate })('http://x.example')
    expect(server.seen.map((seen) => [seen.headers['x-api-key'], seen.headers['x-org']])).toEqual([
      ['one', 'one'],
      ['two', undefined],
    ])
  })

  it('replace those of the caller in the interceptor for undici too', async () => {
    const server = await serve()
    const dispatcher = agent(pooled({ origin: server.url, headers }))
    await request('http://x.example', { dispatcher, headers: own })
    await request('http://x.example', { dispatcher, headers: ['X-API-Key', 'caller', 'x-other', 'kept'] })
    for (const seen of server.seen) expect(seen.headers).toMatchObject(wanted)
  })

  it('do not appear in events, errors or sessions', async () => {
    const server = await serve(503, 503, 503)
    const told: GuardEvent[] = []
    const secret = 'member-secret'
    const send = createFetch({
      pool: pooled({ origin: server.url, headers: { 'x-api-key': secret } }),
      retry: immediate,
      throwOnStatus: true,
    })
    send.on((event) => told.push(event))
    const error = await send('http://x.example').catch((thrown: unknown) => thrown)
    const { inspect } = await import('node:util')
    const { sessionOf } = await import('../../src/index.js')
    const shown = inspect([told, error, sessionOf(error)], { depth: Infinity, showHidden: true })
    expect(told.length).toBeGreaterThan(3)
    expect(shown).not.toContain(secret)
  })

  it('are sent on a redirect to the same origin, but not to another', async () => {
    const other = await serve()
    const server = await serve(
      { status: 302, headers: { location: '/next' } },
      { status: 307, headers: { location: `${other.url}/there` } },
    )
    const send = createFetch({ pool: pooled({ origin: server.url, headers }) })
    const response = await send('http://x.example/start', { headers: { 'x-other': 'kept' } })
    expect([response.status, response.redirected, response.url]).toEqual([200, true, `${other.url}/there`])
    expect(server.seen.map((seen) => seen.headers['x-api-key'])).toEqual(['member', 'member'])
    expect(other.seen[0]?.headers).toMatchObject({ 'x-other': 'kept' })
    expect(other.seen[0]?.headers).not.toHaveProperty('x-api-key')
    expect(other.seen[0]?.headers).not.toHaveProperty('authorization')
  })

  it.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', 'body'],
    [308, 'POST', 'body'],
  ])('are sent on a %d like fetch does: %s', async (status, method, body) => {
    const server = await serve({ status, headers: { location: '/next' } })
    const send = createFetch({ pool: pooled({ origin: server.url, headers }) })
    const response = await send('http://x.example/start', { method: 'POST', body: 'body' })
    expect([response.status, response.redirected, response.url]).toEqual([200, true, `${server.url}/next`])
    expect(server.seen[1]).toMatchObject({ method, body, headers: { 'x-api-key': 'member' } })
  })

  it('respect the redirect mode of the caller and the redirect limit', async () => {
    const server = await serve(...Array(30).fill({ status: 302, headers: { location: '/again' } }))
    const send = createFetch({ pool: pooled({ origin: server.url, headers }), retry: false })
    expect((await send('http://x.example', { redirect: 'manual' })).status).toBe(302)
    await expect(send('http://x.example', { redirect: 'error' })).rejects.toThrow()
    await expect(send('http://x.example')).rejects.toMatchObject({
      cause: { message: 'redirect count exceeded' },
    })
  })

  it('do not allow a retry of a POST that arrived before a redirect', async () => {
    // Deno itself sends a request again if its connection was used before and is reset.
    const redirect = { status: 307, headers: { location: '/next', connection: 'close' } }
    const server = await serve(redirect, 'reset')
    const send = createFetch({ pool: pooled({ origin: server.url, headers }), retry: immediate })
    await expect(send('http://x.example', { method: 'POST', body: 'x' })).rejects.toThrow()
    expect(server.seen).toHaveLength(2)
    const busy = await serve({ status: 303, headers: { location: '/next' } }, 429)
    const careful = createFetch({
      pool: pooled({ origin: busy.url, headers }),
      retry: { ...immediate, notProcessedStatuses: [429] },
    })
    expect((await careful('http://x.example', { method: 'POST', body: 'x' })).status).toBe(429)
    expect(busy.seen).toHaveLength(2)
  })
})
