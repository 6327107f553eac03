import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createProxyFetch, proxyMember, proxyPool } from '../src/index.js'
import { ask, proxyFor, raw } from './helpers/clients.js'
import { closeWithTest, startTarget } from './helpers/target.js'
import { startChain } from './helpers/upstreams.js'

/** A server that answers everything it is sent with the same bytes, over a connection that it keeps. */
async function saying(bytes: string): Promise<{ url: string; asked: () => number }> {
  let asked = 0
  const server = createServer((socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      asked++
      socket.write(bytes)
    })
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked }
}

const unchanged = (length: number): string =>
  `HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: ${length}\r\n\r\n`

describe('a response that never has a body', () => {
  it.each([50, 100_000])('keeps the Content-Length of a 304: %i', async (length) => {
    const target = await saying(unchanged(length))
    const got = await ask(await proxyFor(), `${target.url}/`)
    expect(got).toMatchObject({
      status: 304,
      body: '',
      headers: { etag: '"x"', 'content-length': `${length}` },
    })
    expect(target.asked()).toBe(1)
  })

  it('counts as a success of its member each time', async () => {
    const member = await saying(unchanged(50))
    const pool = proxyPool({
      id: 'p',
      members: [proxyMember(member.url, { id: 'm' })],
      breaker: { failureThreshold: 1 },
    })
    const proxy = await proxyFor({ pool })
    for (let i = 0; i < 3; i++) expect((await ask(proxy, 'http://127.0.0.1:9/')).status).toBe(304)
    expect(pool.stats('m')).toMatchObject({ successCount: 3, failureCount: 0 })
    expect(member.asked()).toBe(3)
  })

  it('counts as a success of its member in a fetch through the pool', async () => {
    const member = await saying(unchanged(50))
    const pool = proxyPool({ id: 'p', members: [proxyMember(member.url, { id: 'm' })] })
    const got = await createProxyFetch(pool)('http://192.0.2.1/')
    expect([got.status, got.headers.get('content-length'), await got.text()]).toEqual([304, '50', ''])
    expect(pool.stats('m')).toMatchObject({ successCount: 1, failureCount: 0 })
  })

  it('keeps its Content-Length for HEAD, and loses it for a 204', async () => {
    const long = await saying('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
    const proxy = await proxyFor()
    expect(await ask(proxy, `${long.url}/`, { method: 'HEAD' })).toMatchObject({
      status: 200,
      headers: { 'content-length': '100000' },
    })
    const none = await saying('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n')
    const got = await ask(proxy, `${none.url}/`)
    expect([got.status, got.headers['content-length']]).toEqual([204, undefined])
  })
})

describe('pipelined requests', () => {
  const two = (first: string, second: string, last = 'Connection: close\r\n'): string =>
    `GET ${first} HTTP/1.1\r\nHost: x\r\n\r\nGET ${second} HTTP/1.1\r\nHost: x\r\n${last}\r\n`

  it('get their responses in order, even if the first is the slowest', async () => {
    let release = (): void => {}
    const target = await startTarget(({ url }, response) => {
      if (url === '/1') release = () => response.end('first')
      else {
        response.end('second')
        response.on('finish', () => setImmediate(() => setImmediate(release)))
      }
    })
    const got = await raw(await proxyFor(), two(`${target.url}/1`, `${target.url}/2`))
    expect(got.match(/first|second/g)).toEqual(['first', 'second'])
  })

  it('get a large response in order', async () => {
    const size = 300_000
    let release = (): void => {}
    const target = await startTarget(({ url }, response) => {
      if (url === '/1') release = () => response.end('first')
      else {
        response.setHeader('content-length', size)
        response.write('x'.repeat(70_000))
        setImmediate(() => setImmediate(release))
        response.end('x'.repeat(size - 70_000))
      }
    })
    const got = await raw(await proxyFor(), two(`${target.url}/1`, `${target.url}/2`))
    expect(got.indexOf('first')).toBeGreaterThan(0)
    expect(got.match(/x{1000,}/g)?.join('').length).toBe(size)
  })

  it('get an error response of the proxy in order', async () => {
    const target = await startTarget((_request, response) => setImmediate(() => response.end('first')))
    const got = await raw(await proxyFor(), two(`${target.url}/1`, 'ftp://nowhere/'))
    expect(got.match(/HTTP\/1\.1 \d+|first/g)).toEqual(['HTTP/1.1 200', 'first', 'HTTP/1.1 400'])
  })

  it('are all aborted when the client disconnects', async () => {
    let came = 0
    let left = 0
    let whenLeft = (): void => {}
    const allLeft = new Promise<void>((resolve) => (whenLeft = resolve))
    let whenCame = (): void => {}
    const allCame = new Promise<void>((resolve) => (whenCame = resolve))
    const target = await startTarget((_request, response) => {
      response.on('close', () => ++left === 2 && whenLeft())
      if (++came === 2) whenCame()
    })
    const socket = connect((await proxyFor()).port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(two(`${target.url}/1`, `${target.url}/2`))
    await allCame
    socket.destroy()
    await allLeft
  })
})

describe('a 101 response without an Upgrade request', () => {
  it.each([
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
  ])('counts as a failure of the member, and the request goes to another: %j', async (bytes) => {
    const target = await startTarget()
    const bad = await saying(bytes)
    const pool = proxyPool({
      id: 'p',
      strategy: 'round_robin',
      members: [proxyMember(bad.url, { id: 'bad' }), proxyMember((await startChain()).url, { id: 'good' })],
    })
    const policies = { quick: { retry: { maxAttempts: 3, backoffType: 'immediate' as const } } }
    const proxy = await proxyFor({ pool, policies })
    for (let i = 0; i < 2; i++)
      expect(await ask(proxy, target.url, { headers: { 'x-holdfast-policy': 'quick' } })).toMatchObject({
        status: 200,
      })
    expect(pool.stats('bad')).toMatchObject({ successCount: 0, failureCount: bad.asked() })
    expect(bad.asked()).toBeGreaterThan(0)
  })

  it('of a target is answered with 502', async () => {
    const target = await saying('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    const proxy = await proxyFor({ policies: { once: { retry: false } } })
    const got = await ask(proxy, `${target.url}/`, { headers: { 'x-holdfast-policy': 'once' } })
    expect(got.status).toBe(502)
  })
})

describe('a tunnel through an HTTP member', () => {
  const through = async (answer: string): Promise<string> => {
    const member = await saying(answer)
    const proxy = await proxyFor({
      pool: proxyPool({ id: 'p', members: [proxyMember(member.url, { connectTimeout: 2000 })] }),
      policies: { once: { retry: false } },
    })
    return raw(proxy, 'CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: x\r\nx-holdfast-policy: once\r\n\r\n', 'end')
  }

  it.each([
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nthe end',
    'HTTP/1.1 102 Processing\r\nX: y\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nthe end',
    'HTTP/1.1 200 OK\n\nthe end',
    'HTTP/1.0 200 OK\nVia: it\n\nthe end',
    'HTTP/1.1 200 OK\r\nVia: it\n\r\nthe end',
  ])('is opened after the response %j', async (answer) => {
    expect(await through(answer)).toBe('HTTP/1.1 200 Connection Established\r\n\r\nthe end')
  })

  it('is not opened after a 101, or after too many interim responses', async () => {
    for (const answer of ['HTTP/1.1 101 Switching\r\n\r\nthe end', 'HTTP/1.1 100 Wait\r\n\r\n'.repeat(1000)])
      expect(await through(answer)).toMatch(/^HTTP\/1\.1 502 /)
  })
})
