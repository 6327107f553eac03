import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcp } from 'node:net'
import { startProxy } from '@holdfast/proxy'
import { attemptSchema, Holdfast } from '@holdfast/runtime'
import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../src/app/app.js'
import type { AppOptions } from '../../src/options.js'
import { type Asked, asking } from '../fixture.js'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function target(listener: RequestListener): Promise<{ url: string; seen: IncomingMessage[] }> {
  const seen: IncomingMessage[] = []
  const server = createServer((request, answer) => {
    seen.push(request)
    listener(request, answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const POLICY = { maxAttempts: 3, backoffType: 'immediate' }

/** On the machine's clock: sockets are real. */
async function asks(
  config: object = {},
  options: AppOptions = { allowPrivateTargets: true },
): Promise<{ hf: Holdfast; send: (body: object) => Promise<Asked> }> {
  const hf = await Holdfast.open({
    config: { version: '1.1.0', policies: { default: POLICY }, ...config },
    env: {},
    watch: false,
  })
  const app = createApp(hf, { dashboard: false, ...options })
  closers.push(async () => {
    await app.close()
    await hf.close()
  })
  const ask = asking(app)
  return { hf, send: (body) => ask('POST', '/api/v1/request', { body }) }
}

describe('a request', () => {
  test('is sent with its method, headers and body, and the result contains the response and the attempt', async () => {
    const { url, seen } = await target((request, answer) => {
      answer.writeHead(201, { 'x-a': ['1', '2'] })
      request.pipe(answer)
    })
    const { send } = await asks()
    const { status, body } = await send({
      url: `${url}/x?y=1`,
      method: 'put',
      headers: { 'X-Me': 'ü' },
      body: { a: 1 },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 201, headers: { 'x-a': '1, 2' }, body: '{"a":1}' })
    expect(body.attempts).toMatchObject([
      { attempt_number: 1, success: true, outcome: 'success', status_code: 201, delay: 0 },
    ])
    expect(seen[0]).toMatchObject({ method: 'PUT', url: '/x?y=1' })
    expect(seen[0]?.headers).toMatchObject({ 'content-type': 'application/json', 'x-me': 'ü' })
  })

  test('is retried while the response is transient, and each attempt is returned and recorded', async () => {
    let calls = 0
    const { url } = await target((_, answer) => answer.writeHead(++calls < 3 ? 503 : 200).end('done'))
    const { send, hf } = await asks()
    const { body } = await send({ url })
    expect(body).toMatchObject({ status: 200, body: 'done' })
    expect(body.attempts.map((attempt: object) => attemptSchema.safeParse(attempt).success)).toEqual([
      true,
      true,
      true,
    ])
    expect(body.attempts).toMatchObject([
      { attempt_number: 1, success: false, outcome: 'failure', status_code: 503 },
      { attempt_number: 2, success: false, status_code: 503 },
      { attempt_number: 3, success: true, status_code: 200 },
    ])
    const { items } = await hf.sessions.list()
    expect(items).toMatchObject([{ success: true, totalAttempts: 3 }])
  })

  test('that fails to the end is answered with the last answer', async () => {
    const { url, seen } = await target((_, answer) => answer.writeHead(502).end('bad'))
    const { send } = await asks()
    expect(await send({ url })).toMatchObject({ status: 200, body: { status: 502, body: 'bad' } })
    expect(seen).toHaveLength(3)
  })

  test('that is not to arrive twice is sent once, unless it has a key or a policy that allows it', async () => {
    const { url, seen } = await target((_, answer) => answer.writeHead(503).end())
    const { send } = await asks({
      policies: { default: POLICY, bold: { ...POLICY, retryNonIdempotent: true } },
    })
    expect((await send({ url, method: 'POST', body: 'x' })).body.attempts).toHaveLength(1)
    expect(seen).toHaveLength(1)
    expect(
      (await send({ url, method: 'POST', headers: { 'Idempotency-Key': 'k' } })).body.attempts,
    ).toHaveLength(3)
    expect((await send({ url, method: 'POST', policy: 'bold' })).body.attempts).toHaveLength(3)
  })

  test('that never left is sent again, whatever its method', async () => {
    const { send } = await asks()
    const { status, body } = await send({ url: 'http://127.0.0.1:1/', method: 'POST', body: 'x' })
    expect(status).toBe(502)
    expect(body).toMatchObject({ error: 'UPSTREAM_FAILED', message: expect.stringContaining('ECONNREFUSED') })
    expect(body.details).toHaveLength(3)
  })

  test.each([
    [[], 1],
    [['ETIMEDOUT'], 1],
    [['ECONNREFUSED'], 3],
    [['network_error'], 3],
  ])('that never left is sent again where its policy retries %j', async (retryableExceptions, times) => {
    const { send } = await asks({ policies: { default: { ...POLICY, retryableExceptions } } })
    for (const method of ['GET', 'POST', 'PATCH'])
      expect((await send({ url: 'http://127.0.0.1:1/', method })).body.details).toHaveLength(times)
  })

  test('that may have arrived is sent once, whatever its policy lists', async () => {
    const { url, seen } = await target((request) => request.socket.destroy())
    const config = { ...POLICY, retryableExceptions: ['network_error'], retryStatusCodes: [503] }
    const { send } = await asks({
      policies: { default: config, never: { ...POLICY, abortExceptions: ['ECONNREFUSED'] } },
    })
    expect((await send({ url, method: 'POST' })).body.details).toHaveLength(1)
    expect(seen).toHaveLength(1)
    const never = await send({ url: 'http://127.0.0.1:1/', method: 'POST', policy: 'never' })
    expect(never.body.details).toHaveLength(1)
  })

  test('that takes too long is 504', async () => {
    const { url } = await target(() => {})
    const { send } = await asks({ policies: { default: { maxAttempts: 1, attemptTimeout: 50 } } })
    const { status, body } = await send({ url })
    expect(status).toBe(504)
    expect(body).toMatchObject({
      error: 'ATTEMPT_TIMEOUT',
      details: [{ attempt_number: 1, outcome: 'timeout' }],
    })
  })

  test('through a pool is answered with a 304 that tells a length', async () => {
    const server = createTcp((socket) => {
      socket.on('error', () => {})
      socket.on('data', () => socket.write('HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closers.push(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { hf, send } = await asks({ pools: { p: { members: [{ id: 'a', url }] } } })
    const { body } = await send({ url: 'http://192.0.2.1/', pool: 'p' })
    expect(body).toMatchObject({ status: 304, headers: { 'content-length': '50' }, body: '' })
    expect(body.attempts).toMatchObject([{ success: true, status_code: 304, proxy_id: 'a' }])
    expect(hf.pools.get('p').stats('a')).toMatchObject({ successCount: 1, failureCount: 0 })
  })

  test('returns the response of the target: binary bodies in base64, redirects not followed, long bodies truncated', async () => {
    const { url } = await target((request, answer) => {
      if (request.url === '/bytes') answer.end(Buffer.from([0xff, 0xfe]))
      else if (request.url === '/long') answer.end('x'.repeat(1_100_000))
      else answer.writeHead(302, { location: '/bytes' }).end()
    })
    const { send } = await asks()
    expect((await send({ url: `${url}/bytes` })).body).toMatchObject({
      body: '//4=',
      body_encoding: 'base64',
    })
    expect((await send({ url })).body).toMatchObject({ status: 302, headers: { location: '/bytes' } })
    const { body } = await send({ url: `${url}/long` })
    expect(body.truncated).toBe(true)
    expect(body.body).toHaveLength(1_048_576)
  })

  test.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://a.localhost/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://127.0.0.1./',
    'http://127.0.0.1../',
    'http://localhost../',
    'http://169.254.169.254/latest/meta-data',
    'http://[fd00:ec2::254]/latest/meta-data',
    'http://[fe80::1]/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://metadata.google.internal./computeMetadata/v1/',
    'http://instance-data/latest/meta-data',
  ])('to %s is refused unless private targets are allowed', async (url) => {
    const { send } = await asks({}, {})
    expect(await send({ url })).toMatchObject({ status: 403, body: { error: 'FORBIDDEN' } })
  })

  test('may go to private targets where the file says so', async () => {
    const { url } = await target((_, answer) => answer.end('ok'))
    const { send } = await asks({ proxy: { allowPrivateTargets: true } }, {})
    expect(await send({ url })).toMatchObject({ status: 200, body: { body: 'ok' } })
  })

  test.each([
    [{}, 'url'],
    [{ url: 'nonsense' }, 'url'],
    [{ url: 'file:///etc/passwd' }, 'url'],
    [{ url: 'http://ann:hunter2@example.com/' }, 'url'],
    [{ url: 'http://example.com/', method: 'CONNECT' }, 'method'],
    [{ url: 'http://example.com/', headers: { 'transfer-encoding': 'chunked' } }, 'headers'],
    [{ url: 'http://example.com/', headers: { a: 'b\r\nc: d' } }, 'headers'],
    [{ url: 'http://example.com/', headers: { 'a b': 'c' } }, 'headers'],
    [{ url: 'http://example.com/', timeout: 1 }, 'timeout'],
  ])('%j is refused, and %s is named', async (body, field) => {
    const { send } = await asks()
    const answer = await send(body)
    expect(answer.status).toBe(400)
    expect(answer.body.message).toContain(field)
    expect(JSON.stringify(answer.body)).not.toContain('hunter2')
  })

  test('under a policy or through a pool that is not there is refused', async () => {
    const { send } = await asks()
    expect(await send({ url: 'http://127.0.0.1:1/', policy: 'none' })).toMatchObject({
      status: 404,
      body: { error: 'POLICY_NOT_FOUND' },
    })
    expect(await send({ url: 'http://127.0.0.1:1/', pool: 'none' })).toMatchObject({
      status: 404,
      body: { error: 'NOT_FOUND' },
    })
  })
})

describe('a request through a pool', () => {
  test('goes through its proxies, fails over, and shows no credentials', async () => {
    const { url, seen } = await target((_, answer) => answer.end('through'))
    const proxy = await startProxy({
      port: 0,
      allowPrivateTargets: true,
      users: [{ name: 'ann', password: 'hunter2' }],
    })
    closers.push(() => proxy.close())
    const members = [
      { id: 'dead', url: 'http://ann:hunter2@127.0.0.1:1' },
      { id: 'good', url: `http://ann:hunter2@127.0.0.1:${proxy.port}` },
    ]
    const { send, hf } = await asks({ pools: { proxies: { members, strategy: 'round_robin' } } })
    const { status, body } = await send({ url, pool: 'proxies' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 200, body: 'through' })
    expect(body.attempts).toMatchObject([
      { proxy_id: 'dead', success: false },
      { proxy_id: 'good', success: true },
    ])
    expect(seen).toHaveLength(1)
    expect(hf.pools.get('proxies').stats('dead').failureCount).toBe(1)
    expect(JSON.stringify(body)).not.toContain('hunter2')
  })

  test('without an available member is rejected with Retry-After', async () => {
    const { send } = await asks({
      pools: {
        proxies: {
          members: [{ id: 'a', url: 'http://127.0.0.1:1' }],
          circuitBreaker: { failureThreshold: 1 },
        },
      },
    })
    await send({ url: 'http://127.0.0.1:9/', pool: 'proxies' })
    const { status, body, headers } = await send({ url: 'http://127.0.0.1:9/', pool: 'proxies' })
    expect(status).toBe(503)
    expect(body.error).toBe('POOL_UNAVAILABLE')
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })
})
