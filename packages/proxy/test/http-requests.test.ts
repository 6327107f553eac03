import { guard, HoldfastError } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { type ProxyCall, proxyMember, proxyPool } from '../src/index.js'
import { ask, basic, proxyFor, raw } from './helpers/clients.js'
import { startTarget } from './helpers/target.js'
import { closedPort, startChain, startFaulty, startSocks } from './helpers/upstreams.js'

const QUICK = { retry: { maxAttempts: 3, backoffType: 'immediate' as const } }
const NAMED = { policies: { quick: QUICK, once: { retry: false as const } } }

describe('a request in absolute form', () => {
  it('goes through an HTTP member with credentials, over reused connections', async () => {
    const target = await startTarget()
    const upstream = await startChain({ username: 'u', password: 'p@w' })
    const pool = proxyPool({
      id: 'p',
      members: [proxyMember(`http://u:p%40w@127.0.0.1:${upstream.port}`)],
    })
    const proxy = await proxyFor({ pool })
    for (const path of ['/a?b=1', '/b', '/c']) {
      const got = await ask(proxy, `${target.url}${path}`)
      expect(got).toMatchObject({ status: 200, body: `GET ${path}` })
    }
    expect(upstream.asked).toHaveLength(3)
    expect(proxy.status()).toMatchObject({ requests: 3, refused: 0, pool: { members: { available: 1 } } })
  })

  it('goes through a SOCKS5 member, and directly without a pool', async () => {
    const target = await startTarget()
    const upstream = await startSocks({ username: 'u', password: 'secret' })
    const pool = proxyPool({ id: 'p', members: [upstream.url] })
    expect(await ask(await proxyFor({ pool }), `${target.url}/s`)).toMatchObject({
      status: 200,
      body: 'GET /s',
    })
    expect(upstream.asked).toEqual([`127.0.0.1:${target.port}`])
    expect(await ask(await proxyFor(), `${target.url}/d`)).toMatchObject({ status: 200, body: 'GET /d' })
  })

  it('keeps its body of any size, with a length or chunked', async () => {
    const target = await startTarget(({ body }, response) => response.end(`${body.length}`))
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url] })
    const proxy = await proxyFor({ pool })
    for (const size of [1, 65_536, 65_537, 1_000_000])
      expect((await ask(proxy, target.url, { method: 'PUT', body: 'x'.repeat(size) })).body).toBe(`${size}`)
    const chunked = await raw(
      proxy,
      `POST ${target.url}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`,
    )
    expect(chunked).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\n[\s\S]*5/)
    expect(target.arrived.at(-1)?.body).toBe('abcde')
  })

  it('gets large responses unchanged, with a length or chunked', async () => {
    const size = 3_000_000
    const target = await startTarget(({ url }, response) => {
      const body = Buffer.alloc(size, url)
      if (url === '/known') response.setHeader('content-length', size)
      response.write(body.subarray(0, 1000))
      response.end(body.subarray(1000))
    })
    const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [(await startChain()).url] }) })
    for (const path of ['/known', '/chunked']) {
      const { body } = await ask(proxy, `${target.url}${path}`)
      expect(body === Buffer.alloc(size, path).toString()).toBe(true)
    }
  })

  it('gets responses to HEAD, and 204 and 304, without a body', async () => {
    const target = await startTarget(({ url }, response) => {
      if (url === '/head') response.setHeader('content-length', 10)
      response.statusCode = Number(url.slice(1)) || 200
      response.end()
    })
    const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [(await startChain()).url] }) })
    const head = await ask(proxy, `${target.url}/head`, { method: 'HEAD' })
    expect(head).toMatchObject({ status: 200, body: '' })
    expect(head.headers['content-length']).toBe('10')
    expect((await ask(proxy, `${target.url}/204`)).status).toBe(204)
    expect((await ask(proxy, `${target.url}/304`)).status).toBe(304)
  })

  it('loses hop-by-hop headers in both directions, and the headers for the proxy', async () => {
    const target = await startTarget((_request, response) => {
      response.setHeader('connection', 'x-inner')
      response.setHeader('x-inner', 'no')
      response.setHeader('proxy-authenticate', 'no')
      response.setHeader('set-cookie', ['a=1', 'b=2'])
      response.setHeader('X-Kept', 'yes')
      response.end('ok')
    })
    const users = [{ name: 'ann', password: 'pw' }]
    const proxy = await proxyFor({ users, ...NAMED })
    const answer = await raw(
      proxy,
      [
        `GET ${target.url}/ HTTP/1.1`,
        'Host: elsewhere.example',
        'Connection: close, X-Secret',
        'X-Secret: no',
        'Keep-Alive: 5',
        'Proxy-Connection: keep-alive',
        `Proxy-Authorization: ${basic('ann', 'pw')}`,
        'X-Holdfast-Policy: quick',
        'TE: trailers',
        'Upgrade: h2c',
        'X-Kept: yes',
        '\r\n',
      ].join('\r\n'),
    )
    const headers = target.arrived[0]?.headers ?? {}
    expect(Object.keys(headers).sort()).toEqual(['connection', 'host', 'x-kept'])
    expect(headers.host).toBe(new URL(target.url).host)
    expect(answer).toMatch(/^HTTP\/1\.1 200/)
    expect(answer).toMatch(/X-Kept: yes/)
    expect(answer).toMatch(/set-cookie: a=1\r\nset-cookie: b=2/i)
    expect(answer).not.toMatch(/x-inner|proxy-authenticate/i)
  })

  it('is retried by its policy, and gets the last response', async () => {
    const statuses = [503, 502, 200]
    const target = await startTarget((_request, response) => {
      response.statusCode = statuses.shift() ?? 503
      response.end('told')
    })
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url, (await startChain()).url] })
    const proxy = await proxyFor({ pool, ...NAMED })
    const headers = { 'x-holdfast-policy': 'quick' }
    expect(await ask(proxy, target.url, { headers })).toMatchObject({ status: 200, body: 'told' })
    expect(target.arrived).toHaveLength(3)
    expect(await ask(proxy, target.url, { headers })).toMatchObject({ status: 503, body: 'told' })
    expect(target.arrived).toHaveLength(6)
    expect(await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'once' } })).toMatchObject({
      status: 503,
    })
    expect(target.arrived).toHaveLength(7)
  })

  it('gets a large error response after the last attempt unchanged', async () => {
    const body = 'x'.repeat(500_000)
    const target = await startTarget((_request, response) => {
      response.statusCode = 503
      response.end(body)
    })
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url] })
    const got = await ask(await proxyFor({ pool, ...NAMED }), target.url, {
      headers: { 'x-holdfast-policy': 'quick' },
    })
    expect(got.status).toBe(503)
    expect(got.body === body).toBe(true)
    expect(target.arrived).toHaveLength(3)
  })

  it('uses one member per session, and the members of its region', async () => {
    const target = await startTarget()
    const upstreams = await Promise.all(Array.from({ length: 4 }, () => startChain()))
    const members = upstreams.map(({ url }, i) => proxyMember(url, { region: i < 2 ? 'eu' : 'us' }))
    const sticky = await proxyFor({ pool: proxyPool({ id: 'p', members, strategy: 'sticky' }) })
    const headers = { 'proxy-authorization': basic('any-session-basket7', 'x') }
    for (let i = 0; i < 6; i++) await ask(sticky, target.url, { headers })
    expect(upstreams.map(({ asked }) => asked.length).filter((count) => count > 0)).toEqual([6])
    for (const { asked } of upstreams) asked.length = 0
    const near = await proxyFor({ pool: proxyPool({ id: 'q', members, strategy: 'region' }) })
    for (let i = 0; i < 6; i++)
      await ask(near, target.url, { headers: { 'proxy-authorization': basic('any-region-us', 'x') } })
    expect(upstreams.map(({ asked }) => asked.length)).toEqual([0, 0, 3, 3])
  })

  it('runs under a custom guard, which gets a description of the call', async () => {
    const target = await startTarget()
    const calls: ProxyCall[] = []
    const own = guard({ retry: false })
    const proxy = await proxyFor({
      users: [{ name: 'ann', password: 'pw' }],
      guard: (call) => {
        calls.push(call)
        if (call.policy === 'missing') throw new HoldfastError('POLICY_NOT_FOUND', 'there is none')
        return own
      },
    })
    const headers = { 'proxy-authorization': basic('ann-session-1', 'pw'), 'x-holdfast-policy': 'mine' }
    expect((await ask(proxy, target.url, { headers })).status).toBe(200)
    expect(calls).toEqual([
      {
        kind: 'request',
        method: 'GET',
        host: new URL(target.url).host,
        policy: 'mine',
        user: 'ann',
        context: { session: '1' },
      },
    ])
    const missing = await ask(proxy, target.url, { headers: { ...headers, 'x-holdfast-policy': 'missing' } })
    expect(missing.status).toBe(400)
    expect(JSON.parse(missing.body).error).toBe('POLICY_NOT_FOUND')
  })

  it('is retried only after the statuses in retryStatusCodes of its policy', async () => {
    const answers = [500, 503, 500, 200]
    const target = await startTarget((_request, response) => {
      response.statusCode = answers.shift() ?? 0
      response.end()
    })
    const retry = { maxAttempts: 5, backoffType: 'immediate' as const, retryStatusCodes: [500] }
    const proxy = await proxyFor({ policies: { listed: { retry } } })
    const headers = { 'x-holdfast-policy': 'listed' }
    expect((await ask(proxy, target.url, { headers })).status).toBe(503)
    expect((await ask(proxy, target.url, { headers })).status).toBe(200)
    expect(answers).toEqual([])
    const wrong = { policies: { listed: { retry: { retryStatusCodes: [404] } } } }
    await expect(proxyFor(wrong)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
    const odd = { policies: { listed: { retry: { retryNonIdempotent: 1 as never } } } }
    await expect(proxyFor(odd)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  })
})

describe('a proxy', () => {
  it('answers an unknown policy or an invalid target with 400', async () => {
    const target = await startTarget()
    const proxy = await proxyFor(NAMED)
    expect((await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'nope' } })).status).toBe(400)
    expect(await raw(proxy, 'GET ftp://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400/,
    )
    expect(await raw(proxy, 'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 400/,
    )
    expect(await raw(proxy, 'GET /other HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404/,
    )
    expect(target.arrived).toEqual([])
  })

  it('answers missing or wrong credentials with 407 and Proxy-Authenticate', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ users: [{ name: 'ann', password: 'pw' }] })
    const refused = await ask(proxy, target.url)
    expect(refused.status).toBe(407)
    expect(refused.headers['proxy-authenticate']).toBe('Basic realm="holdfast"')
    const headers = { 'proxy-authorization': basic('ann', 'wrong') }
    expect((await ask(proxy, target.url, { headers })).status).toBe(407)
    expect(target.arrived).toEqual([])
  })

  it('answers private targets in every spelling with 403', async () => {
    const target = await startTarget()
    const upstream = await startChain()
    const pool = proxyPool({ id: 'p', members: [upstream.url] })
    const resolve = async () => [
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]
    const proxy = await proxyFor({ pool, allowPrivateTargets: false, resolve })
    for (const host of [
      '127.0.0.1',
      'localhost',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      'a.example',
    ]) {
      const got = await raw(
        proxy,
        `GET http://${host}:${target.port}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
      )
      expect(got).toMatch(/^HTTP\/1\.1 403/)
    }
    expect(upstream.asked).toEqual([])
  })

  it('answers with 502 if no member responds, without naming a member', async () => {
    const port = await closedPort()
    const pool = proxyPool({ id: 'p', members: [`http://user:hunter2@127.0.0.1:${port}`] })
    const proxy = await proxyFor({ pool, policies: NAMED.policies })
    const got = await ask(proxy, 'http://127.0.0.1:1/', { headers: { 'x-holdfast-policy': 'quick' } })
    expect(got.status).toBe(502)
    expect(got.body).not.toContain('hunter2')
    expect(got.body).not.toContain(String(port))
  })

  it('answers with 503 and Retry-After if all members are open', async () => {
    const pool = proxyPool({
      id: 'p',
      members: [`http://127.0.0.1:${await closedPort()}`],
      breaker: { failureThreshold: 1, timeoutDuration: '30s' },
    })
    const proxy = await proxyFor({ pool, ...NAMED })
    const headers = { 'x-holdfast-policy': 'quick' }
    expect((await ask(proxy, 'http://127.0.0.1:1/', { headers })).status).toBe(502)
    const got = await ask(proxy, 'http://127.0.0.1:1/', { headers })
    expect(got.status).toBe(503)
    expect(Number(got.headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.parse(got.body).error).toBe('POOL_UNAVAILABLE')
  })

  it('answers with 504 after a timeout', async () => {
    const pool = proxyPool({ id: 'p', members: [(await startFaulty('stall')).url] })
    const policies = { short: { retry: false as const, timeout: { attempt: 20 } } }
    const got = await ask(await proxyFor({ pool, policies }), 'http://127.0.0.1:1/', {
      headers: { 'x-holdfast-policy': 'short' },
    })
    expect(got.status).toBe(504)
    const total = await proxyFor({ pool, responseTimeout: 30, guard: () => guard({ pool, retry: false }) })
    expect((await ask(total, 'http://127.0.0.1:1/')).status).toBe(504)
  })

  it('serves a status page without secrets and names of members', async () => {
    const pool = proxyPool({
      id: 'p<',
      members: ['http://user:hunter2@p1.example:8080', 'http://p2.example:1'],
    })
    pool.breaker('p2.example:1').trip()
    const proxy = await proxyFor({ pool, users: [{ name: 'ann', password: 'hunter2' }] })
    const authorization = basic('ann', 'hunter2')
    const page = await fetch(proxy.url, { headers: { authorization } })
    const text = await page.text()
    expect(page.status).toBe(200)
    expect(text).toContain('p&#60;')
    expect(text).not.toMatch(/hunter2|p1\.example|ann/)
    const json = await (
      await fetch(proxy.url, { headers: { authorization, accept: 'application/json' } })
    ).json()
    expect(json).toMatchObject({ requests: 0, pool: { id: 'p<', members: { available: 1, open: 1 } } })
  })
})
