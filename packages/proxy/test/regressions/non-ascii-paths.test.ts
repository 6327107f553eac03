import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { proxyPool } from '../../src/index.js'
import { encodeUrl } from '../../src/server/raw-url.js'
import { ask, proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'
import { turn } from '../helpers/until.js'
import { startChain, startSocks } from '../helpers/upstreams.js'

describe('a path with bytes outside ASCII', () => {
  it('is sent to the target percent-encoded, byte by byte', async () => {
    const target = await startTarget()
    const pools = [[(await startChain()).url], [(await startSocks()).url]].map((members) =>
      proxyPool({ id: 'p', members }),
    )
    for (const pool of [undefined, ...pools]) {
      const proxy = await proxyFor(pool && { pool })
      const request = (path: string | Buffer): Promise<string> =>
        raw(
          proxy,
          Buffer.concat([
            Buffer.from(`GET ${target.url}/`),
            Buffer.from(path),
            Buffer.from(' HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
          ]),
        )
      expect(await request('tür/日本?q=é%20ü')).toMatch(
        /^HTTP\/1\.1 200 [^]*GET \/t%C3%BCr\/%E6%97%A5%E6%9C%AC\?q=%C3%A9%20%C3%BC$/,
      )
      // Latin-1 is not UTF-8, and its bytes stay what they are.
      expect(await request(Buffer.from([0x66, 0xfc, 0x72]))).toMatch(/^HTTP\/1\.1 200 [^]*GET \/f%FCr$/)
    }
  })

  it.each(['\x85', '\xa0', '\x80\x8d\x8a'])(
    'cannot end the line or begin another request (%j)',
    async (bytes) => {
      const target = await startTarget()
      const proxy = await proxyFor()
      const request = `GET ${target.url}/a${bytes}HTTP/1.1${bytes}X:1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
      await raw(proxy, Buffer.from(request, 'latin1'))
      expect(target.arrived).toHaveLength(1)
      expect(target.arrived[0]?.url).toMatch(/^\/a(%[89A-F][0-9A-F])+HTTP\/1\.1(%[89A-F][0-9A-F])+X:1$/)
    },
  )

  it('is accepted after other requests on the connection, and is the last one', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ headTimeout: 1000 })
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()))
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        got += chunk.toString('latin1')
        if (got.endsWith('GET /first'))
          socket.write(`POST ${target.url}/second HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi`)
        if (got.endsWith('POST /second hi'))
          socket.write(`PUT ${target.url}/third/ü HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nho`)
      })
    socket.write(`GET ${target.url}/first HTTP/1.1\r\nHost: a\r\n\r\n`)
    await closed
    expect(target.arrived.map(({ url, body }) => `${url} ${body}`)).toEqual([
      '/first ',
      '/second hi',
      '/third/%C3%BC ho',
    ])
    expect(got.match(/^connection: close\r$/gim)).toHaveLength(1)
  })

  it('has no head timeout while its body is sent', async () => {
    const target = await startTarget()
    const proxy = await proxyFor({ headTimeout: 200 })
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    const closed = new Promise<void>((resolve) =>
      socket.on('data', (chunk) => (got += chunk)).on('close', () => resolve()),
    )
    socket.write(`PUT ${target.url}/ü HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nh`)
    await ask(proxy, `${target.url}/between`)
    // A head that began later is timed out.
    expect(await raw(proxy, 'GET http://a/')).toMatch(/^HTTP\/1\.1 408 /)
    socket.write('i')
    await closed
    expect(got).toMatch(/^HTTP\/1\.1 200 [^]*PUT \/%C3%BC hi$/)
  })

  it.each([1, 2])('is the same at every split of its request into two packets (request %i)', async (nth) => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const request = Buffer.from(`GET ${target.url}/tür/日?é HTTP/1.1\r\nHost: a\r\n\r\n`)
    const results = new Set<string>()
    for (let at = 1; at < request.length; at++) {
      const socket = connect(proxy.port, '127.0.0.1').setNoDelay(true)
      let got = ''
      const closed = new Promise<void>((resolve) => {
        socket.on('error', () => {}).on('close', () => resolve())
      })
      const first = new Promise<void>((resolve) => {
        socket.on('data', (chunk) => {
          got += chunk.toString('latin1')
          if (got.endsWith('GET /first')) resolve()
        })
      })
      if (nth === 2) {
        socket.write(`GET ${target.url}/first HTTP/1.1\r\nHost: a\r\n\r\n`)
        await first
        got = ''
      }
      await new Promise<void>((resolve) => socket.write(request.subarray(0, at), () => resolve()))
      // By the time another request is answered, the bytes that were sent before it have been read.
      await ask(proxy, `${target.url}/between`)
      socket.write(request.subarray(at))
      await closed
      results.add(got.replace(/^date: .*$/gim, ''))
    }
    expect([...results]).toEqual([
      expect.stringMatching(/^HTTP\/1\.1 200 [^]*GET \/t%C3%BCr\/%E6%97%A5\?%C3%A9$/),
    ])
  })

  it('is the same if every byte is a separate packet', async () => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const socket = connect(proxy.port, '127.0.0.1').setNoDelay(true)
    let got = ''
    const closed = new Promise<void>((resolve) =>
      socket.on('data', (chunk) => (got += chunk)).on('close', () => resolve()),
    )
    for (const byte of Buffer.from(`GET ${target.url}/ü HTTP/1.1\r\nHost: a\r\n\r\n`)) {
      await new Promise<void>((resolve) => socket.write(Buffer.of(byte), () => resolve()))
      await ask(proxy, `${target.url}/between`)
    }
    await closed
    expect(got).toMatch(/^HTTP\/1\.1 200 [^]*GET \/%C3%BC$/)
  })

  it.each([
    ['in a host', 'GET http://exämple/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['with a space in the URL', 'GET http://a/ü http://b/ HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['without an end, if its line is too long', `GET http://a/ü${'x'.repeat(4000)}`, 431],
    ['without an end, after the head timeout', 'GET http://a/ü', 408],
  ])('is rejected %s', async (_name, request, status) => {
    const proxy = await proxyFor({ maxHeaderSize: 2048, headTimeout: 200 })
    expect(await raw(proxy, request)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    while (proxy.status().connections > 0) await turn()
  })

  it('is accepted in a packet that ends a chunked body', async () => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    const closed = new Promise<void>((resolve) =>
      socket.on('data', (chunk) => (got += chunk)).on('close', () => resolve()),
    )
    socket.write(`POST ${target.url}/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello`)
    await ask(proxy, `${target.url}/between`)
    socket.write(`\r\n0\r\n\r\nGET ${target.url}/`)
    while (!got.includes('POST / hello')) await turn()
    socket.write(`ü HTTP/1.1\r\nHost: a\r\n\r\n`)
    await closed
    expect(got).toMatch(/GET \/%C3%BC$/)
  })

  it('is not parsed as another request at the end of a line', async () => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const socket = connect(proxy.port, '127.0.0.1')
    let got = ''
    const closed = new Promise<void>((resolve) =>
      socket.on('data', (chunk) => (got += chunk)).on('close', () => resolve()),
    )
    // The packet ends with the beginning of a second request.
    socket.write(`GET ${target.url}/first HTTP/1.1\r\nHost: a\r\n\r\nGET ${target.url}/a`)
    while (!got.endsWith('GET /first')) await turn()
    socket.write(`GET ${target.url}/ü HTTP/1.1\r\nHost: a\r\n\r\n`)
    await closed
    expect(got).toMatch(/GET \/firstHTTP\/1\.1 400 /)
    expect(target.arrived).toHaveLength(1)
  })

  it.each([
    'GET /ü HTTP/1.1\n',
    'GET http://a/ü',
    'GET http://ä/ü HTTP/1.1\n',
    'GET http://a/ü b HTTP/1.1\n',
    'GET http://a/\x01ü HTTP/1.1\n',
    '\xff\n',
  ])('is not encoded in %j', (packet) => expect(encodeUrl(Buffer.from(packet, 'latin1'))).toBeUndefined())
})
