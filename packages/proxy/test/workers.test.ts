import { type AddressInfo, connect, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { HoldfastError } from 'holdfast'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ProxyConnectionError, proxyMember, proxyPool, startProxy } from '../src/index.js'
import { StatusFailure } from '../src/server/upstream-response.js'
import { PrivateTargetError } from '../src/targets/target-policy.js'
import { decodeError, encodeError } from '../src/workers/protocol.js'
import { CERT, KEY } from './helpers/certificate.js'
import { ask, askThroughTunnel, basic, proxyFor, raw } from './helpers/clients.js'
import { closeWithTest, startTarget } from './helpers/target.js'
import { until } from './helpers/until.js'
import { closedPort, startChain, startFaulty, startSocks } from './helpers/upstreams.js'
import { workerIds } from './helpers/worker-ids.js'

describe('a proxy with workers', () => {
  it('serves and counts requests, tunnels and WebSockets through every kind of member', async () => {
    const target = await startTarget()
    const members = [(await startChain({ username: 'u', password: 'p' })).url, (await startSocks()).url]
    const pool = proxyPool({ id: 'p', members })
    const proxy = await proxyFor({ pool, workers: 2 })
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(proxy, `${target.url}/${i}`)))
    expect(answers.map(({ body }) => body)).toEqual(answers.map((_, i) => `GET /${i}`))
    expect(
      (await ask(proxy, `${target.url}/post`, { method: 'POST', body: 'x'.repeat(200_000) })).body,
    ).toHaveLength(200_011)
    for (let i = 0; i < 4; i++) expect((await askThroughTunnel(proxy, `${target.url}/t`)).body).toBe('GET /t')
    expect(target.arrived).toHaveLength(25)
    await until(() => proxy.status().requests === 21)
    await until(() => proxy.status().connections === 0)
    expect(proxy.status()).toMatchObject({ tunnels: 4, refused: 0, pool: { members: { available: 2 } } })
    const sum = pool.members().reduce((all, { id }) => all + pool.stats(id).successCount, 0)
    expect(sum).toBe(25)
    const page = await (await fetch(proxy.url, { headers: { accept: 'application/json' } })).json()
    expect(page).toMatchObject({ requests: 21, tunnels: 4, pool: { id: 'p' } })
  })

  it('uses an HTTPS member with a custom CA', async () => {
    const target = await startTarget()
    const secure = createTlsServer({ key: KEY, cert: CERT }, (client) => {
      client
        .on('error', () => {})
        .once('data', () => client.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsafe'))
    })
    closeWithTest(secure)
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    const { port } = secure.address() as AddressInfo
    const member = proxyMember(`https://127.0.0.1:${port}`, { tls: { ca: Buffer.from(CERT) } })
    const proxy = await proxyFor({ workers: 2, pool: proxyPool({ id: 'p', members: [member] }) })
    expect((await ask(proxy, target.url)).body).toBe('safe')
  })

  it('has one breaker per member for all workers', async () => {
    const target = await startTarget()
    const dead = `http://127.0.0.1:${await closedPort()}`
    const pool = proxyPool({
      id: 'p',
      members: [dead, (await startChain()).url],
      breaker: { failureThreshold: 3, timeoutDuration: '1h' },
    })
    const proxy = await proxyFor({ pool, workers: 3 })
    for (let i = 0; i < 12; i++) expect((await ask(proxy, target.url)).status).toBe(200)
    const [first] = pool.members()
    expect(pool.status(first?.id as string)).toBe('open')
    expect(pool.stats(first?.id as string).failureCount).toBe(3)
  })

  it('retries by status and policy, returns the last response, and rejects unknown policies', async () => {
    const answers = [503, 503, 200]
    const target = await startTarget((_request, response) => {
      response.statusCode = answers.shift() ?? 500
      response.end('body')
    })
    const retry = { maxAttempts: 3, backoffType: 'immediate' as const, retryStatusCodes: [503] }
    const proxy = await proxyFor({ workers: 2, policies: { thrice: { retry } } })
    const got = await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'thrice' } })
    expect([got.status, got.body, target.arrived.length]).toEqual([200, 'body', 3])
    const last = await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'thrice' } })
    expect([last.status, target.arrived.length]).toEqual([500, 4])
    expect((await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'other' } })).status).toBe(400)
    answers.push(503, 503)
    const post = await ask(proxy, target.url, {
      method: 'POST',
      body: 'x',
      headers: { 'x-holdfast-policy': 'thrice' },
    })
    expect([post.status, target.arrived.length]).toEqual([503, 5])
  })

  it('ends a call at its deadline, and when its client disconnects', async () => {
    const target = await startTarget(() => {})
    const proxy = await proxyFor({
      workers: 2,
      policies: { hasty: { retry: false, timeout: { total: 100 } } },
    })
    const late = await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'hasty' } })
    expect(late.status).toBe(504)
    const client = connect(proxy.port, '127.0.0.1').on('error', () => {})
    client.write(`GET ${target.url}/held HTTP/1.1\r\nHost: a\r\n\r\n`)
    // The call with the deadline may end before its request arrives at the target, so requests are not counted.
    await until(() => target.arrived.some(({ url }) => url === '/held'))
    const closed = new Promise<void>((resolve) => target.server.getConnections(() => resolve()))
    client.destroy()
    await closed
    await until(() => proxy.status().connections === 0)
  })

  it('responds with the same errors as one process', async () => {
    const proxy = await proxyFor({ workers: 2, allowPrivateTargets: false })
    expect((await ask(proxy, 'http://127.0.0.1:1/')).status).toBe(403)
    const pool = proxyPool({ id: 'p', members: [(await startFaulty({ status: 407 })).url] })
    const refusing = await proxyFor({ workers: 2, pool })
    expect((await ask(refusing, 'http://a.example/')).status).toBe(502)
    const empty = await proxyFor({ workers: 2, pool: proxyPool({ id: 'e' }) })
    expect(JSON.parse((await ask(empty, 'http://a.example/')).body)).toMatchObject({
      error: 'POOL_UNAVAILABLE',
    })
  })

  it('limits wrong passwords across all workers', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ workers: 2, users: [{ name: 'ann', password: 'right' }] })
    const as = (password: string) => ({ headers: { 'proxy-authorization': basic('ann', password) } })
    for (let i = 0; i < 10; i++) expect((await ask(proxy, target.url, as(`guess ${i}`))).status).toBe(407)
    // Each connection goes to another worker, and the word of a guess takes a moment to reach it.
    await until(async () => {
      const statuses = await Promise.all([1, 2, 3, 4].map(() => ask(proxy, target.url, as('guess'))))
      return statuses.every(({ status }) => status === 429)
    })
    expect((await ask(proxy, target.url, as('right'))).status).toBe(429)
  })

  it('limits connections across all workers', async () => {
    const proxy = await proxyFor({ workers: 2, maxConnections: 3 })
    const held = [1, 2, 3].map(() => connect(proxy.port, '127.0.0.1').on('error', () => {}))
    await until(() => proxy.status().connections === 3)
    expect(await raw(proxy, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toBe('')
    for (const socket of held) socket.destroy()
    await until(() => proxy.status().connections === 0)
    expect((await fetch(proxy.url)).status).toBe(200)
  })

  it('replaces a worker that was killed, ends its calls, and keeps its counts', async () => {
    const held = new Set<() => void>()
    const target = await startTarget(({ url }, response) => {
      if (url === '/held') held.add(() => response.end())
      else response.end('ok')
    })
    const replaced: number[] = []
    const onWarning = ({ message }: Error): void => {
      const pid = /^proxy worker (\d+) was killed by SIGKILL/.exec(message)?.[1]
      if (pid !== undefined) replaced.push(Number(pid))
    }
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const proxy = await proxyFor({ workers: 2 })
    for (let i = 0; i < 4; i++) expect((await ask(proxy, target.url)).status).toBe(200)
    await until(() => proxy.status().requests === 4)
    const broken = ask(proxy, `${target.url}/held`).catch((error: Error) => error)
    await until(() => held.size === 1)
    const pids = workerIds()
    expect(pids).toHaveLength(2)
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    expect(await broken).toBeInstanceOf(Error)
    await until(() => replaced.length === 2)
    expect(new Set(replaced)).toEqual(new Set(pids))
    for (let i = 0; i < 4; i++) expect((await ask(proxy, target.url)).status).toBe(200)
    await until(() => proxy.status().requests >= 8)
  })

  it('serves connections that arrive before its workers are ready', async () => {
    const port = await closedPort()
    const starting = proxyFor({ workers: 2, port })
    const early = await new Promise<Socket>((resolve) => {
      const attempt = (): void => {
        const socket = connect(port, '127.0.0.1')
        socket.once('connect', () => resolve(socket)).once('error', () => setImmediate(attempt))
      }
      attempt()
    })
    let got = ''
    const ended = new Promise<void>((resolve) =>
      early.on('data', (chunk) => (got += chunk)).on('close', () => resolve()),
    )
    early.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    await starting
    await ended
    expect(got).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  it('finishes running requests when it is closed, and leaves no process', async () => {
    let answer = (): void => {}
    const target = await startTarget((_request, response) => {
      answer = () => response.end('late')
    })
    const proxy = await startProxy({ port: 0, workers: 2, allowPrivateTargets: true })
    const asked = ask(proxy, target.url)
    await until(() => target.arrived.length === 1)
    const closing = proxy.close()
    answer()
    expect((await asked).body).toBe('late')
    await closing
    expect(workerIds()).toEqual([])
    await expect(ask(proxy, target.url)).rejects.toThrow('ECONNREFUSED')
  })

  it('is rejected if an option has functions, which cannot be sent to workers', async () => {
    await expect(startProxy({ port: 0, workers: 2, resolve: async () => [] })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
    })
  })
})

describe('an error sent between processes', () => {
  it.each([
    new HoldfastError('POOL_UNAVAILABLE', 'none', { retryAfter: 500 }),
    new ProxyConnectionError('refused', { status: 503, headers: { 'retry-after': '1' } }),
    new StatusFailure(503, { 'retry-after': '2' }),
    new PrivateTargetError('private'),
    new TypeError('mistake'),
    Object.assign(new Error('reset', { cause: new Error('behind') }), { code: 'ECONNRESET', errno: -104 }),
  ])('keeps its class, fields and cause: %s', (error) => {
    const decoded = decodeError(JSON.parse(JSON.stringify(encodeError(error))))
    expect(decoded).toBeInstanceOf(error.constructor)
    expect(Object.entries(decoded)).toEqual(Object.entries(error))
    expect([decoded.message, decoded.stack, decoded.name]).toEqual([error.message, error.stack, error.name])
    expect(String(decoded.cause)).toBe(String(error.cause))
  })
})
