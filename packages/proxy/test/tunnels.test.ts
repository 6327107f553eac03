import { createServer as createTls } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { fakeClock } from 'holdfast/testing'
import { ProxyAgent, WebSocket } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { proxyMember, proxyPool } from '../src/index.js'
import { CERT, KEY } from './helpers/certificate.js'
import { askThroughTunnel, basic, proxyFor, raw } from './helpers/clients.js'
import { closeWithTest, startTarget } from './helpers/target.js'
import { turn } from './helpers/until.js'
import { closedPort, startChain, startFaulty, startSocks } from './helpers/upstreams.js'

/** A server that says back what it hears, and `hello` first where it is asked to. */
async function startEcho(greets = false): Promise<{ port: number; sockets: Socket[] }> {
  const sockets: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    if (greets) socket.write('hello')
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as { port: number }).port, sockets }
}

/** Opens a tunnel by hand; gives the socket once it stands. */
function tunnelTo(proxyPort: number, port: number, early = ''): Promise<{ socket: Socket; rest: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: proxyPort, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.on('error', reject)
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: x\r\n\r\n${early}`)
    let got = ''
    const onData = (chunk: Buffer): void => {
      got += chunk.toString()
      const end = got.indexOf('\r\n\r\n')
      if (end < 0) return
      socket.off('data', onData)
      if (got.startsWith('HTTP/1.1 200')) resolve({ socket, rest: got.slice(end + 4) })
      else reject(new Error(got))
    }
    socket.on('data', onData)
  })
}

const heard = (socket: Socket, text: string, rest = ''): Promise<void> =>
  new Promise((resolve) => {
    let got = rest
    if (got.includes(text)) resolve()
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString()
      if (got.includes(text)) resolve()
    })
  })

describe('a tunnel', () => {
  it('is opened through an HTTP, a SOCKS5 and an HTTPS member, and directly', async () => {
    const target = await startTarget()
    const chain = await startChain({ username: 'u', password: 'pw' })
    const socks = await startSocks({ username: 'u', password: 'pw' })
    const plain = await startChain()
    const tls = createTlsServer({ key: KEY, cert: CERT }, (socket) => {
      const inner = connect(plain.port, '127.0.0.1')
      socket.pipe(inner).pipe(socket)
      socket.on('error', () => inner.destroy())
      inner.on('error', () => socket.destroy())
    })
    closeWithTest(tls)
    await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve))
    const { port } = tls.address() as { port: number }
    const secure = proxyMember(`https://localhost:${port}`, { tls: { ca: CERT } })
    for (const member of [proxyMember(chain.url), proxyMember(socks.url), secure]) {
      const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [member] }) })
      expect(await askThroughTunnel(proxy, `${target.url}/t`)).toEqual({ status: 200, body: 'GET /t' })
      expect(proxy.status()).toMatchObject({ tunnels: 1 })
    }
    expect((await askThroughTunnel(await proxyFor(), `${target.url}/t`)).body).toBe('GET /t')
  })

  it('carries HTTPS and WebSocket', async () => {
    const server = createTls({ key: KEY, cert: CERT }, (_request, response) => response.end('secret'))
    closeWithTest(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [(await startSocks()).url] }) })
    const agent = new ProxyAgent({ uri: proxy.url, requestTls: { ca: CERT } })
    onTestFinished(() => agent.destroy())
    const { fetch } = await import('undici')
    expect(await (await fetch(`https://localhost:${port}/`, { dispatcher: agent })).text()).toBe('secret')

    const target = await startTarget()
    const { createHash } = await import('node:crypto')
    target.server.on('upgrade', (request, socket) => {
      const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
      const accept = createHash('sha1').update(key).digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      )
      socket.write(Buffer.from([0x81, 5, ...Buffer.from('hello')]))
    })
    const web = new WebSocket(`ws://127.0.0.1:${target.port}/`, { dispatcher: new ProxyAgent(proxy.url) })
    const message = await new Promise((resolve, reject) => {
      web.addEventListener('message', ({ data }) => resolve(data))
      web.addEventListener('error', reject)
    })
    expect(message).toBe('hello')
    web.close()
  })

  it('is requested from every member, whatever status the others reject it with', async () => {
    const target = await startTarget()
    const statuses = [400, 403, 404, 405, 407, 429, 451, 500, 503]
    const refusing = await Promise.all(
      statuses.map((status) => startFaulty({ status, headers: 'Retry-After: 30\r\n' })),
    )
    const dead = await Promise.all(Array.from({ length: 6 }, closedPort))
    const members = [
      ...refusing.map(({ url }) => url),
      ...dead.map((port) => `http://127.0.0.1:${port}`),
      (await startChain()).url,
    ]
    const pool = proxyPool({ id: 'p', members, strategy: 'round_robin' })
    const proxy = await proxyFor({ pool })
    expect(await askThroughTunnel(proxy, `${target.url}/t`)).toEqual({ status: 200, body: 'GET /t' })
    expect(refusing.map(({ asked }) => asked.length)).toEqual(statuses.map(() => 1))
  })

  it('transfers bytes that either side sent before it was opened', async () => {
    const echo = await startEcho(true)
    for (const member of [await startChain(), await startSocks()]) {
      const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [member.url] }) })
      const { socket, rest } = await tunnelTo(proxy.port, echo.port, 'early')
      const both = heard(socket, 'helloearlymore', rest)
      socket.write('more')
      await both
    }
  })

  it('transfers 8 MB in both directions', async () => {
    const echo = await startEcho()
    const proxy = await proxyFor({ pool: proxyPool({ id: 'p', members: [(await startChain()).url] }) })
    const { socket } = await tunnelTo(proxy.port, echo.port)
    const size = 8_000_000
    let got = 0
    const all = new Promise<void>((resolve) =>
      socket.on('data', (chunk: Buffer) => {
        got += chunk.length
        if (got === size) resolve()
      }),
    )
    for (let i = 0; i < 8; i++) socket.write(Buffer.alloc(1_000_000, 'x'))
    await all
  })

  it('lets one side end before the other', async () => {
    const echo = await startEcho()
    const proxy = await proxyFor()
    const { socket } = await tunnelTo(proxy.port, echo.port)
    const answered = heard(socket, 'last words')
    const ended = new Promise((resolve) => socket.on('end', resolve))
    socket.end('last words')
    await answered
    await ended
  })

  it('is closed when the target disconnects', async () => {
    const echo = await startEcho()
    const proxy = await proxyFor()
    const { socket } = await tunnelTo(proxy.port, echo.port)
    const closed = new Promise((resolve) => socket.on('close', resolve))
    expect(proxy.status().openTunnels).toBe(1)
    socket.on('end', () => socket.end())
    socket.resume()
    echo.sockets[0]?.destroy()
    await closed
    while (proxy.status().openTunnels > 0) await turn()
  })

  it('is closed after idleTimeout without data, and stays open while it is used', async () => {
    const clock = fakeClock()
    const echo = await startEcho()
    const proxy = await proxyFor({ clock, idleTimeout: '60s' })
    const { socket: silent } = await tunnelTo(proxy.port, echo.port)
    const { socket: used } = await tunnelTo(proxy.port, echo.port)
    const closed = new Promise((resolve) => silent.on('close', resolve))
    silent.on('end', () => silent.end())
    silent.resume()
    for (let i = 0; i < 3; i++) {
      const answered = heard(used, `again ${i}`)
      used.write(`again ${i}`)
      await answered
      await clock.advance(60_000)
    }
    await closed
    expect(proxy.status().openTunnels).toBe(1)
  })

  it('is requested from one member after another until one opens it', async () => {
    const target = await startTarget()
    const dead = await Promise.all(
      Array.from({ length: 6 }, async () => `http://127.0.0.1:${await closedPort()}`),
    )
    const pool = proxyPool({ id: 'p', members: [...dead, (await startChain()).url] })
    expect((await askThroughTunnel(await proxyFor({ pool }), target.url)).status).toBe(200)
  })

  it('is rejected with the status of the reason', async () => {
    const port = await closedPort()
    const users = [{ name: 'ann', password: 'pw' }]
    const connectTo = (where: string, headers = ''): string =>
      `CONNECT ${where} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
    const direct = await proxyFor()
    expect(await raw(direct, connectTo(`127.0.0.1:${port}`))).toMatch(/^HTTP\/1\.1 502/)
    expect(await raw(direct, connectTo('127.0.0.1'))).toMatch(/^HTTP\/1\.1 400/)
    expect(await raw(direct, connectTo('127.0.0.1:1', 'X-Holdfast-Policy: nope\r\n'))).toMatch(
      /^HTTP\/1\.1 400/,
    )
    const closed = await proxyFor({ allowPrivateTargets: false, users })
    const authorization = `Proxy-Authorization: ${basic('ann', 'pw')}\r\n`
    expect(await raw(closed, connectTo('127.0.0.1:1'))).toMatch(
      /^HTTP\/1\.1 407[\s\S]*proxy-authenticate: Basic/i,
    )
    for (const host of [
      '127.0.0.1',
      'localhost',
      '0x7f000001',
      '[::1]',
      '[::ffff:10.0.0.1]',
      '169.254.169.254',
    ])
      expect(await raw(closed, connectTo(`${host}:80`, authorization))).toMatch(/^HTTP\/1\.1 403/)
    const pool = proxyPool({
      id: 'p',
      members: [`http://127.0.0.1:${port}`],
      breaker: { failureThreshold: 1 },
    })
    const open = await proxyFor({ pool })
    expect(await raw(open, connectTo('127.0.0.1:1'))).toMatch(/^HTTP\/1\.1 502/)
    expect(await raw(open, connectTo('127.0.0.1:1'))).toMatch(/^HTTP\/1\.1 503[\s\S]*retry-after: \d+/i)
    const stalled = proxyMember((await startFaulty('stall')).url, { connectTimeout: 50 })
    const slow = await proxyFor({
      pool: proxyPool({ id: 'p', members: [stalled] }),
      policies: { once: { retry: false } },
    })
    expect(await raw(slow, connectTo('127.0.0.1:1', 'X-Holdfast-Policy: once\r\n'))).toMatch(
      /^HTTP\/1\.1 504/,
    )
  })

  it('is not opened to a name that resolved to a private address after the check', async () => {
    const echo = await startEcho()
    const clock = fakeClock()
    const answers = ['8.8.8.8']
    const proxy = await proxyFor({
      clock,
      allowPrivateTargets: false,
      resolve: async () => {
        const address = answers.shift() ?? '127.0.0.1'
        // What was found is not believed any more when the connection is made.
        if (address === '8.8.8.8') setImmediate(() => void clock.advance(20_000))
        return [{ address, family: 4 }]
      },
      connectTimeout: 200,
    })
    const got = await raw(proxy, `CONNECT turns.example:${echo.port} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(got).toMatch(/^HTTP\/1\.1 (403|502|504)/)
    expect(echo.sockets).toHaveLength(0)
  })
})
