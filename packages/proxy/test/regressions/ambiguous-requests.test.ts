import { describe, expect, it } from 'vitest'
import { proxyFor, raw } from '../kit/clients.js'
import { startTarget } from '../kit/target.js'

describe('a request whose framing others may read differently', () => {
  it.each([
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['gzip and chunked on two lines', 'Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n'],
  ])(
    'is answered with 501 when its transfer coding is %s, and nothing after it is read',
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
    'is answered with 400 when it has two Host lines (%s)',
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
  ])('is answered with 400 when it has two Host lines and a chunked body (%j)', async (headers) => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const got = await raw(
      proxy,
      `POST ${target.url}/ HTTP/1.1\r\n${headers}Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    )
    expect(got).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(target.arrived).toEqual([])
  })

  it('is the last of its connection when it is HTTP/1.0 with chunks', async () => {
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

describe('connectPorts', () => {
  it('limits CONNECT to the ports it lists', async () => {
    const target = await startTarget()
    const connecting = (port: number): string => `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: a\r\n\r\n`
    const proxy = await proxyFor({ connectPorts: [443, target.port] })
    expect(await raw(proxy, connecting(target.port), 'Established')).toMatch(/^HTTP\/1\.1 200 /)
    const refused = await raw(proxy, connecting(25))
    expect(refused).toMatch(/^HTTP\/1\.1 403 /)
    expect(refused).toContain('connectPorts')
  })
})
