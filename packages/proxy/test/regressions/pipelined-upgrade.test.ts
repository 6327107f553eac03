import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ask, proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'
import { turn } from '../helpers/until.js'

const WEB_SOCKET =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'

const get = (url: string, headers = ''): string => `GET ${url} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`
const connectTo = (port: number): string => `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`

/** A target that keeps the responses to what it gets under /slow until `release` is called. */
async function startSlowTarget(body = 'slow response') {
  const held: ServerResponse[] = []
  const target = await startTarget(({ url }, response) => {
    if (url.startsWith('/slow')) held.push(response)
    else response.end(`GET ${url}`)
  })
  target.server.on('upgrade', (_request, socket: Socket) => {
    socket.on('error', () => {}).on('data', (chunk) => socket.write(`echo ${chunk}`))
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  return {
    target,
    held,
    release: () => {
      for (const response of held.splice(0)) response.end(body)
    },
  }
}

describe('a request that is pipelined with an upgrade or CONNECT', () => {
  it.each([
    ['h2c', H2C],
    ['a refused WebSocket', WEB_SOCKET],
  ])('does not truncate the response to an upgrade before it (%s)', async (_name, headers) => {
    for (const follow of ['GET', 'h2c', 'WebSocket', 'CONNECT', 'malformed']) {
      const { target, held, release } = await startSlowTarget()
      target.server.removeAllListeners('upgrade')
      const second = await startTarget()
      const behind = {
        GET: get(`${second.url}/two`),
        h2c: get(`${second.url}/two`, H2C),
        WebSocket: get(`${second.url}/two`, WEB_SOCKET),
        CONNECT: connectTo(second.port),
        malformed: 'nonsense\r\n\r\n',
      }[follow] as string
      const proxy = await proxyFor()
      const answered = raw(proxy, get(`${target.url}/slow`, headers) + behind)
      while (held.length === 0) await turn()
      release()
      const got = await answered
      expect([follow, got]).toEqual([follow, expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n/)])
      expect(got).toMatch(/^connection: close\r$/im)
      expect(got).toContain('slow response')
      expect(got.match(/HTTP\/1\.1 /g)).toHaveLength(1)
      expect(second.arrived).toEqual([])
    }
  })

  it('gets its response before a WebSocket behind it is opened', async () => {
    const { target, held, release } = await startSlowTarget('x'.repeat(3_000_000))
    const proxy = await proxyFor()
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    const echoed = new Promise<void>((resolve, reject) => {
      socket.on('error', reject).on('close', () => reject(new Error(`closed after ${got.length} bytes`)))
      socket.on('data', (chunk) => {
        got += chunk.toString('latin1')
        if (got.endsWith('echo early bytes')) resolve()
      })
    })
    socket.write(`${get(`${target.url}/slow`)}${get(`${target.url}/ws`, WEB_SOCKET)}early bytes`)
    while (held.length === 0) await turn()
    // The client reads nothing for a moment, so that the response fills the buffers of its connection.
    socket.pause()
    release()
    await ask(proxy, target.url)
    socket.resume()
    await echoed
    expect(got.slice(0, 17)).toBe('HTTP/1.1 200 OK\r\n')
    expect(got.slice(got.indexOf('\r\n\r\n') + 4).replace(/^x+/, '')).toMatch(/^HTTP\/1\.1 101 /)
    expect(got.match(/x{1000}/g)?.length).toBe(3000)
    socket.destroy()
  })

  it('gets its response before a tunnel behind it is opened', async () => {
    const { target, held, release } = await startSlowTarget()
    const proxy = await proxyFor()
    const through = get(`${target.url}/through`, 'Connection: close\r\n')
    const answered = raw(proxy, get(`${target.url}/slow`) + connectTo(target.port) + through)
    while (held.length === 0) await turn()
    release()
    expect(await answered).toMatch(
      /^HTTP\/1\.1 200 OK\r\n[^]*slow responseHTTP\/1\.1 200 Connection Established\r\n\r\nHTTP\/1\.1 200 OK\r\n[^]*GET [^]*\/through/,
    )
  })

  it('gets its response even if the next bytes are not HTTP', async () => {
    const { target, held, release } = await startSlowTarget()
    const proxy = await proxyFor()
    const answered = raw(proxy, `${get(`${target.url}/slow`)}nonsense\r\n\r\n`)
    while (held.length === 0) await turn()
    release()
    const got = await answered
    expect(got).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*slow response/)
    expect(got.match(/HTTP\/1\.1 /g)).toHaveLength(1)
  })

  it('leaves no upstream connection open if the client disconnects first', async () => {
    const { target, held } = await startSlowTarget()
    const proxy = await proxyFor()
    const socket = connect(proxy.port, '127.0.0.1').on('error', () => {})
    socket.write(get(`${target.url}/slow`) + connectTo(target.port))
    while (held.length === 0) await turn()
    socket.destroy()
    while (proxy.status().connections > 0) await turn()
    expect(proxy.status()).toMatchObject({ tunnels: 0, openTunnels: 0 })
  })
})
