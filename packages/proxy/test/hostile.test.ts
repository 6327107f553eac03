import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type ProxyServer, proxyPool } from '../src/index.js'
import { ask, proxyFor, raw } from './helpers/clients.js'
import { startTarget } from './helpers/target.js'
import { turn } from './helpers/until.js'
import { startChain } from './helpers/upstreams.js'

const settled = async (proxy: { status(): { connections: number } }): Promise<void> => {
  while (proxy.status().connections > 0) await turn()
}

describe('an ambiguous request', () => {
  it.each([
    [
      'with Content-Length and Transfer-Encoding',
      'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG',
    ],
    [
      'with Transfer-Encoding and Content-Length',
      'Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG',
    ],
    ['with two lengths', 'Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd'],
    ['with a length that is not a number', 'Content-Length: 3x\r\n\r\nabc'],
    ['with a negative length', 'Content-Length: -1\r\n\r\n'],
    ['with a chunked coding that is not the last', 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n'],
    ['with an unknown coding', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['with a chunk size that is not valid', 'Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n'],
    ['with a chunk longer than its size', 'Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n'],
    ['with a space before the colon', 'Content-Length : 3\r\n\r\nabc'],
    ['with a bare line feed', 'X: 1\nContent-Length: 3\r\n\r\nabc'],
  ])('%s is answered with 400 and does not reach the target', async (_name, rest) => {
    const target = await startTarget()
    const pool = proxyPool({ id: 'p', members: [(await startChain()).url] })
    const proxy = await proxyFor({ pool })
    const got = await raw(proxy, `POST ${target.url}/ HTTP/1.1\r\nHost: a\r\n${rest}`)
    expect(got).toMatch(/^HTTP\/1\.1 400/)
    expect(got.match(/HTTP\/1\.1 \d{3}/g)).toHaveLength(1)
    expect(target.arrived).toEqual([])
  })

  it('with a request in its body sends only one request to the target', async () => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const inner = `GET ${target.url}/inner HTTP/1.1\r\nHost: a\r\n\r\n`
    const got = await raw(
      proxy,
      `POST ${target.url}/outer HTTP/1.1\r\nHost: a\r\nContent-Length: ${inner.length}\r\nConnection: close\r\n\r\n${inner}`,
    )
    expect(got.match(/HTTP\/1\.1 200/g)).toHaveLength(1)
    expect(target.arrived.map(({ url }) => url)).toEqual(['/outer'])
  })
})

describe('three pipelined requests', () => {
  it('get their responses in order', async () => {
    const target = await startTarget(({ url }, response) => {
      if (url === '/2') response.end('two!')
      else setImmediate(() => response.end(`${url}!`))
    })
    const proxy = await proxyFor()
    const one = (path: string, more = ''): string =>
      `GET ${target.url}${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`
    const got = await raw(proxy, one('/1') + one('/2') + one('/3', 'Connection: close\r\n'))
    expect(got.match(/\/1!|two!|\/3!/g)).toEqual(['/1!', 'two!', '/3!'])
  })
})

describe('the limits of the proxy', () => {
  it('answer a head that is too large with 431', async () => {
    const proxy = await proxyFor({ maxHeaderSize: 1024 })
    const got = await raw(
      proxy,
      `GET http://a.example/ HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(2000)}\r\n\r\n`,
    )
    expect(got).toMatch(/^HTTP\/1\.1 431/)
  })

  it('close clients that do not send a head or a body or do not read, while others are served', async () => {
    const body = 'x'.repeat(30_000_000)
    const target = await startTarget(({ url }, response) => response.end(url === '/large' ? body : 'ok'))
    /** Opens slow clients; resolves when the proxy has closed their connections. */
    const openSlow = async (proxy: ProxyServer): Promise<string[]> => {
      const lazy = connect(proxy.port, '127.0.0.1')
      lazy.on('error', () => {})
      onTestFinished(() => void lazy.destroy())
      lazy.write(`GET ${target.url}/large HTTP/1.1\r\nHost: a\r\n\r\n`)
      lazy.pause()
      const heads = [
        '',
        `GET ${target.url}/ HT`,
        `POST ${target.url}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc`,
        `POST ${target.url}/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
      ]
      return Promise.all(Array.from({ length: 100 }, (_, i) => raw(proxy, heads[i % 4] as string)))
    }
    // With these timeouts a busy machine closes no client that reads and sends.
    const patient = await proxyFor({ headTimeout: '1h', idleTimeout: '1h' })
    const held = openSlow(patient)
    while (patient.status().connections < 101) await turn()
    for (let i = 0; i < 20; i++) expect((await ask(patient, target.url)).body).toBe('ok')
    await patient.close({ timeout: 1 })
    await held

    const proxy = await proxyFor({ headTimeout: 1500, idleTimeout: 1500 })
    for (const answer of await openSlow(proxy))
      expect(answer.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1)
    await settled(proxy)
    expect(target.arrived.filter(({ method }) => method === 'POST')).toEqual([])
  })

  it('close connections beyond maxConnections at once', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ maxConnections: 2 })
    const held = [1, 2].map(() => connect(proxy.port, '127.0.0.1'))
    while (proxy.status().connections < 2) await turn()
    expect(await raw(proxy, `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\n\r\n`)).toBe('')
    for (const socket of held) socket.destroy()
    await settled(proxy)
    expect((await ask(proxy, target.url)).status).toBe(200)
  })
})
