import { connect } from 'node:net'
import { guard } from 'holdfast'
import { seededRandom } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { proxyPool } from '../src/index.js'
import { ask, proxyFor, raw } from './kit/clients.js'
import { startTarget } from './kit/target.js'
import { turn } from './kit/until.js'
import { startChain } from './kit/upstreams.js'

/** Sends bytes, says that there are no more, and gives all that came back. */
function say(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let got = ''
    socket.on('data', (chunk) => (got += chunk.toString('latin1')))
    socket.on('error', () => {}).on('close', () => resolve(got))
    socket.on('end', () => socket.end())
    socket.end(bytes)
  })
}

const settled = async (proxy: { status(): { connections: number } }): Promise<void> => {
  while (proxy.status().connections > 0) await turn()
}

describe('malformed heads', () => {
  it('do not crash the proxy, leave no connection open and get at most one response each (10,000)', {
    timeout: 240_000,
  }, async () => {
    const target = await startTarget((_request, response) => response.end('marker'))
    // Without waits between attempts, of which there would be many.
    const once = guard({ retry: false })
    const proxy = await proxyFor({ headTimeout: 10_000, guard: () => once })
    const random = seededRandom(7)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const heads = [
      `GET ${target.url}/x HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n`,
      `POST ${target.url}/x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc`,
      `POST ${target.url}/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
      `CONNECT 127.0.0.1:${target.port} HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n`,
      `GET ${target.url}/x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      'GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic YTpi\r\n\r\n',
    ]
    const junk = [
      '\r\n',
      '\n',
      '\0',
      ' ',
      ':',
      '\t',
      '\xff',
      'Content-Length: 5\r\n',
      'Transfer-Encoding: chunked\r\n',
      'x'.repeat(70_000),
      'Host: b\r\n',
      'HTTP/9.9',
      '%',
      '\\',
      '@',
    ]
    const spoil = (head: string): Buffer => {
      let text = head
      for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) {
        const at = Math.floor(random() * text.length)
        const way = random()
        if (way < 0.4) text = text.slice(0, at) + pick(junk) + text.slice(at)
        else if (way < 0.7) text = text.slice(0, at) + text.slice(at + 1 + Math.floor(random() * 5))
        else if (way < 0.9)
          text = text.slice(0, at) + String.fromCharCode(random() * 256) + text.slice(at + 1)
        else text = text.slice(0, at)
      }
      return Buffer.from(text, 'latin1')
    }
    let left = 10_000
    let answered = 0
    const worker = async (): Promise<void> => {
      while (left-- > 0) {
        const sent = spoil(pick(heads))
        const got = await say(proxy.port, sent)
        // Two heads may be in what was sent. What comes through a tunnel is not the proxy's answer.
        const [own = ''] = got.split(/(?<=200 Connection Established\r\n\r\n)/)
        const answers = own.match(/HTTP\/1\.1 \d{3} /g)?.length ?? 0
        const asked = sent.toString('latin1').match(/HTTP\/\d/g)?.length ?? 0
        if (answers > 0) answered++
        // What follows the last whole request is refused, and then the connection is closed.
        expect(answers).toBeLessThanOrEqual(asked + 1)
        expect(own.match(/HTTP\/1\.1 200 /g)?.length ?? 0).toBeLessThanOrEqual(asked)
      }
    }
    await Promise.all(Array.from({ length: 32 }, worker))
    expect(answered).toBeGreaterThan(1000)
    expect((await ask(proxy, target.url)).body).toBe('marker')
    await settled(proxy)
    expect(proxy.status().openTunnels).toBe(0)
  })
})

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
    const proxy = await proxyFor({ headTimeout: 1500, idleTimeout: 1500 })
    const slow = Array.from({ length: 100 }, (_, i) =>
      raw(
        proxy,
        [
          '',
          `GET ${target.url}/ HT`,
          `POST ${target.url}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc`,
          `POST ${target.url}/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
        ][i % 4] as string,
      ),
    )
    const lazy = connect(proxy.port, '127.0.0.1')
    lazy.on('error', () => {})
    lazy.write(`GET ${target.url}/large HTTP/1.1\r\nHost: a\r\n\r\n`)
    lazy.pause()
    for (let i = 0; i < 20; i++) expect((await ask(proxy, target.url)).body).toBe('ok')
    const answers = await Promise.all(slow)
    for (const answer of answers) expect(answer.match(/HTTP\/1\.1 /g)?.length ?? 0).toBeLessThanOrEqual(1)
    await settled(proxy)
    expect(target.arrived.filter(({ method }) => method === 'POST')).toEqual([])
    lazy.destroy()
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
