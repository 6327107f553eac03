import { describe, expect, it } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

describe('a request with ambiguous framing', () => {
  it.each([
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['gzip and chunked on two lines', 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n'],
  ])(
    'is answered with 501 if its transfer coding is %s, and the connection is closed',
    async (_name, header) => {
      const target = await startTarget()
      const proxy = await proxyFor()
      const got = await raw(
        proxy,
        `POST ${target.url}/one HTTP/1.1\r\nHost: a\r\n${header}\r\n3\r\nabc\r\n0\r\n\r\nGET ${target.url}/two HTTP/1.1\r\nHost: a\r\n\r\n`,
      )
      expect(got).toMatch(/^HTTP\/1\.1 501 Not Implemented\r\n/)
      expect(got).toMatch(/^connection: close\r$/im)
      expect(got.match(/HTTP\/1\.1 /g)).toHaveLength(1)
      expect(target.arrived).toEqual([])
    },
  )

  it.each(['GET', 'CONNECT', 'UPGRADE', 'PAGE'])(
    'is answered with 400 if it has two Host headers (%s)',
    async (kind) => {
      const target = await startTarget()
      const proxy = await proxyFor()
      const line = {
        GET: `GET ${target.url}/ HTTP/1.1`,
        CONNECT: `CONNECT 127.0.0.1:${target.port} HTTP/1.1`,
        UPGRADE: `GET ${target.url}/ HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket`,
        PAGE: 'GET / HTTP/1.1',
      }[kind]
      const follow = kind === 'GET' ? `GET ${target.url}/two HTTP/1.1\r\nHost: a\r\n\r\n` : ''
      const got = await raw(proxy, `${line}\r\nHost: a\r\nHost: b\r\n\r\n${follow}`)
      expect(got).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
      expect(got).toMatch(/^connection: close\r$/im)
      expect(got.match(/HTTP\/1\.1 /g)).toHaveLength(1)
      expect(target.arrived).toEqual([])
    },
  )

  it.each([
    'Host: a\r\nHost: b\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nHost: a\r\nHost: b\r\n',
    'Host: a\r\nTransfer-Encoding: chunked\r\nHost: b\r\n',
  ])('is answered with 400 if it has two Host headers and a chunked body (%j)', async (headers) => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const got = await raw(
      proxy,
      `POST ${target.url}/ HTTP/1.1\r\n${headers}Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    )
    expect(got).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(target.arrived).toEqual([])
  })

  it('is the last one of its connection if it is HTTP/1.0 with a chunked body', async () => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const got = await raw(
      proxy,
      `POST ${target.url}/one HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n` +
        `GET ${target.url}/two HTTP/1.1\r\nHost: a\r\n\r\n`,
    )
    expect(got).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(got).toMatch(/^connection: close\r$/im)
    expect(target.arrived.map(({ url }) => url)).toEqual(['/one'])
  })
})
