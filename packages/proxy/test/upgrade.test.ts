import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type ProxyServer, proxyPool } from '../src/index.js'
import { proxyFor, raw } from './helpers/clients.js'
import { startTarget, type Target } from './helpers/target.js'
import { closedPort, startChain, startFaulty, startSocks } from './helpers/upstreams.js'

/** A target that changes to a protocol in which everything is said back. */
async function startEcho(): Promise<Target & { upgraded: Record<string, unknown>[] }> {
  const target = await startTarget()
  const upgraded: Record<string, unknown>[] = []
  target.server.on('upgrade', (request, socket) => {
    upgraded.push({ url: request.url, ...request.headers })
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\nhi`,
    )
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  return Object.assign(target, { upgraded })
}

const asking = (url: string, more = '', upgrade = 'websocket'): string =>
  `GET ${url} HTTP/1.1\r\nHost: other\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\n` +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${more}\r\n`

/** Asks for a WebSocket, says `ping` in it, and gives all that came back by then. */
function converse(proxy: ProxyServer, url: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    let said = false
    socket.on('error', () => {}).on('close', () => resolve(got))
    socket.on('data', (chunk) => {
      got += chunk.toString()
      if (!said && got.includes('\r\n\r\nhi')) {
        said = true
        socket.write('ping')
      } else if (got.endsWith('ping')) socket.end()
    })
    socket.write(asking(url))
  })
}

describe('the status page', () => {
  it('is served to a request that offers h2c', async () => {
    const proxy = await proxyFor({})
    expect(await raw(proxy, asking('/', 'Accept: application/json\r\n', 'h2c'))).toMatch(
      /^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*"openTunnels":0/i,
    )
    expect(await raw(proxy, asking('/other', '', 'h2c'))).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
  })
})

describe('a WebSocket requested in absolute form', () => {
  it('is opened through HTTP and SOCKS5 members and directly, and fails over from bad members', async () => {
    const target = await startEcho()
    const members = [
      `http://127.0.0.1:${await closedPort()}`,
      (await startFaulty({ status: 405 })).url,
      (await startChain()).url,
    ]
    const pools = [members, [(await startSocks()).url]].map((some) => proxyPool({ id: 'p', members: some }))
    for (const pool of [...pools, undefined]) {
      const proxy = await proxyFor(pool === undefined ? {} : { pool })
      const got = await converse(proxy, `${target.url}/chat?x=1`)
      expect(got).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
      expect(got).toContain('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
      expect(got.endsWith('hiping')).toBe(true)
      expect(proxy.status()).toMatchObject({ tunnels: 1, refused: 0 })
    }
    expect(target.upgraded).toHaveLength(3)
    expect(target.upgraded[0]).toMatchObject({ url: '/chat?x=1', host: `127.0.0.1:${target.port}` })
  })

  it('does not send the headers for the proxy to the target', async () => {
    const target = await startEcho()
    const proxy = await proxyFor({ policies: { one: {} } })
    const own =
      'Proxy-Authorization: Basic YTpi\r\nX-Holdfast-Policy: one\r\nProxy-Connection: x\r\nX-A: 1\r\n'
    await raw(proxy, asking(`${target.url}/`, own), 'hi')
    expect(target.upgraded[0]).toMatchObject({ 'x-a': '1', upgrade: 'websocket', connection: 'Upgrade' })
    expect(Object.keys(target.upgraded[0] ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(proxy-|x-holdfast)/)]),
    )
  })

  it('gets the response of a target that rejects it, and the connection is closed', async () => {
    const target = await startTarget((_request, response) => {
      response.writeHead(426, { 'x-why': 'no' }).end('not here')
    })
    const got = await raw(await proxyFor(), asking(`${target.url}/`), 'not here')
    expect(got).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/)
    expect(got).toMatch(/x-why: no\r\n/)
    expect(got).toMatch(/connection: close\r\n/i)
    expect(got).not.toMatch(/keep-alive/i)
  })

  it('is rejected with the status of the reason', async () => {
    const target = await startEcho()
    const careful = await proxyFor({ allowPrivateTargets: false })
    expect(await raw(careful, asking(`${target.url}/`))).toMatch(/^HTTP\/1\.1 403 /)
    const closed = await proxyFor({ users: [{ name: 'ann', password: 'pw' }] })
    expect(await raw(closed, asking(`${target.url}/`))).toMatch(/^HTTP\/1\.1 407 /)
    const proxy = await proxyFor()
    expect(await raw(proxy, asking('/'))).toMatch(/^HTTP\/1\.1 400 /)
    expect(await raw(proxy, asking(`https://127.0.0.1:${target.port}/`))).toMatch(/^HTTP\/1\.1 400 /)
    expect(await raw(proxy, asking(`http://127.0.0.1:${await closedPort()}/`))).toMatch(/^HTTP\/1\.1 502 /)
    const silent = proxyPool({ id: 'p', members: [(await startFaulty('close')).url] })
    expect(await raw(await proxyFor({ pool: silent }), asking(`${target.url}/`))).toMatch(/^HTTP\/1\.1 502 /)
    const mute = await startTarget(() => {})
    const hasty = await proxyFor({ responseTimeout: 50 })
    expect(await raw(hasty, asking(`${mute.url}/`))).toMatch(/^HTTP\/1\.1 504 /)
    expect(target.upgraded).toHaveLength(0)
  })
})

describe('a client that disconnects before its WebSocket is opened', () => {
  it('leaves no connection behind', async () => {
    const target = await startTarget()
    const asked = new Promise<Socket>((resolve) =>
      target.server.on('upgrade', (_, socket) => resolve(socket as Socket)),
    )
    const proxy = await proxyFor()
    const client = connect(proxy.port, '127.0.0.1').on('error', () => {})
    client.write(asking(`${target.url}/`))
    const socket = await asked
    const closed = new Promise<void>((resolve) =>
      socket
        .on('error', () => {})
        .on('end', () => resolve())
        .resume(),
    )
    client.destroy()
    await closed
    expect(proxy.status().openTunnels).toBe(0)
  })
})

describe('a request that offers h2c', () => {
  it('is answered in HTTP/1.1, and its body reaches the target', async () => {
    const target = await startTarget()
    const body = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'
    const proxy = await proxyFor()
    const get = await raw(proxy, `GET ${target.url}/a HTTP/1.1\r\nHost: x\r\n${body}\r\n`)
    expect(get).toMatch(/^HTTP\/1\.1 200 OK\r\n.*GET \/a$/s)
    const post = `POST ${target.url}/b HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n${body}\r\npay5`
    expect(await raw(proxy, post)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*POST \/b pay5$/s)
    const chunked = `PUT ${target.url}/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n${body}\r\n2\r\nhi\r\n0\r\n\r\n`
    expect(await raw(proxy, chunked)).toMatch(/^HTTP\/1\.1 200 OK\r\n.*PUT \/c hi$/s)
    for (const { headers } of target.arrived) expect(headers).not.toHaveProperty('upgrade')
    expect(target.arrived).toHaveLength(3)
  })
})
