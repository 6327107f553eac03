import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type ProxyServer, proxyPool } from '../../src/index.js'
import { basic, curl, proxyFor } from '../helpers/clients.js'
import { closeWithTest, startTarget } from '../helpers/target.js'
import { turn } from '../helpers/until.js'
import { startChain, startSocks } from '../helpers/upstreams.js'

const hasCurl = await curl('--version').then(
  (text) => text.includes('HTTP2'),
  () => false,
)

const users = [{ name: 'ann', password: 'pw' }]

/** A server that records every byte and answers each head with a response that keeps its connection open. */
async function startRecorder(answer: string): Promise<{ url: string; port: number; received: () => string }> {
  const chunks: Buffer[] = []
  const server = createServer((socket) => {
    let unanswered = ''
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      unanswered += chunk.toString('latin1')
      if (!unanswered.includes('\r\n\r\n')) return
      unanswered = ''
      socket.write(answer)
    })
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received: () => Buffer.concat(chunks).toString('latin1'),
  }
}

/** Sends the first bytes, and the second ones once a response has arrived; gives everything until the proxy closes. */
function converse(proxy: ProxyServer, first: string, second: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    let sent = false
    socket.on('data', (chunk) => {
      got += chunk.toString('latin1')
      if (sent || !got.includes('done')) return
      sent = true
      socket.write(second)
    })
    socket.on('error', () => {}).on('close', () => resolve(got))
    socket.write(first)
  })
}

const authorization = `Proxy-Authorization: ${basic('ann', 'pw')}\r\n`
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone'
const REFUSED = 'HTTP/1.1 426 Upgrade Required\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\ndone'
const CHUNKED = 'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndone\r\n0\r\n\r\n'
const h2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'
const webSocket =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'

const other = (url: string): string =>
  `GET ${url}/two HTTP/1.1\r\nHost: b\r\n${authorization}Cookie: session=secret\r\n\r\n`

describe('an upgrade that is not answered with 101', () => {
  it.each([
    ['h2c', h2c, '', OK],
    ['h2c with a body', `${h2c}Content-Length: 4\r\n`, 'body', OK],
    ['h2c with a chunked body', `${h2c}Transfer-Encoding: chunked\r\n`, '4\r\nbody\r\n0\r\n\r\n', OK],
    ['WebSocket', webSocket, '', REFUSED],
    ['WebSocket with a chunked response', webSocket, '', CHUNKED],
    ['WebSocket with a body', `${webSocket}Content-Length: 4\r\n`, 'body', REFUSED],
  ])(
    'never sends a later request for another host to the first target (%s)',
    async (_name, headers, body, answer) => {
      const first = await startRecorder(answer)
      const second = await startRecorder(OK)
      for (const members of [undefined, [(await startChain()).url], [(await startSocks()).url]]) {
        const pool = members && proxyPool({ id: 'p', members })
        const proxy = await proxyFor({ users, ...(pool && { pool }) })
        const method = body === '' ? 'GET' : 'POST'
        const request = `${method} ${first.url}/one HTTP/1.1\r\nHost: a\r\n${authorization}${headers}\r\n${body}`
        const follow = other(second.url)
        for (const got of [
          await converse(proxy, request, follow),
          await converse(proxy, request + follow, ''),
        ]) {
          expect(got).toMatch(/^HTTP\/1\.1 (200|426|403) /)
          expect(got).toMatch(/^connection: close\r$/im)
          expect(got).not.toMatch(/keep-alive/i)
          expect(got).toContain('done')
          expect(got.match(/HTTP\/1\.1 /g)).toHaveLength(1)
        }
      }
      const received = first.received()
      expect(received).not.toMatch(/\/two|secret|proxy-authorization/i)
      expect(received.match(/\/one/g)).toHaveLength(6)
      if (body !== '') expect(received.match(/body/g)).toHaveLength(6)
      expect(second.received()).toBe('')
    },
  )

  it('is closed by the proxy after the response, even if the target keeps its connection open', async () => {
    const target = await startRecorder(REFUSED)
    const proxy = await proxyFor()
    const got = await converse(proxy, `GET ${target.url}/one HTTP/1.1\r\nHost: a\r\n${webSocket}\r\n`, '')
    expect(got).toMatch(/^HTTP\/1\.1 426 /)
    while (proxy.status().connections > 0) await turn()
    expect(proxy.status()).toMatchObject({ openTunnels: 0, tunnels: 0 })
  })

  it('does not forward the headers named in Connection', async () => {
    const target = await startRecorder(OK)
    const proxy = await proxyFor()
    const headers = h2c.replace('HTTP2-Settings\r\n', 'HTTP2-Settings, X-Hop\r\nX-Hop: secret\r\n')
    await converse(proxy, `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\n${authorization}${headers}\r\n`, '')
    expect(target.received()).toContain('GET / HTTP/1.1')
    expect(target.received()).not.toContain('secret')
  })

  it('closes the connection of the client if the target disconnects during the response', async () => {
    const server = createServer((socket) => {
      socket
        .on('error', () => {})
        .once('data', () => {
          socket.end('HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n')
        })
    })
    closeWithTest(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const proxy = await proxyFor()
    const got = await converse(
      proxy,
      `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: a\r\n${webSocket}\r\n`,
      '',
    )
    expect(got).not.toContain('0\r\n\r\n')
  })

  it.runIf(hasCurl)('sends the requests of curl --http2 for two hosts to the right host', async () => {
    const a = await startTarget()
    const b = await startTarget()
    const proxy = await proxyFor({ users })
    const printed = await curl(
      '--http2',
      '-U',
      'ann:pw',
      '-x',
      proxy.url,
      '-b',
      'session=secret',
      `${a.url}/one`,
      `${b.url}/two`,
    )
    expect(printed).toBe('GET /oneGET /two')
    expect([a, b].map(({ arrived }) => arrived.map(({ url }) => url))).toEqual([['/one'], ['/two']])
    for (const { headers } of [...a.arrived, ...b.arrived])
      expect(headers).not.toHaveProperty('proxy-authorization')
  })
})
