import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ask, proxyFor, raw } from './helpers/clients.js'
import { startTarget } from './helpers/target.js'

/** One gigabyte of zeros is about one megabyte of gzip; this is a tenth of it. */
const EXPANDED_BYTES = 100_000_000

describe('a compressed response', () => {
  it('is forwarded without being expanded', async () => {
    const bomb = gzipSync(Buffer.alloc(EXPANDED_BYTES), { level: 9 })
    const target = await startTarget((_request, response) => {
      response.setHeader('content-encoding', 'gzip')
      response.end(bomb)
    })
    const got = await raw(
      await proxyFor(),
      `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    expect(got).toMatch(/content-encoding: gzip/i)
    const body = Buffer.from(got.slice(got.indexOf('\r\n\r\n') + 4), 'latin1')
    expect(body.length).toBeLessThan(2 * bomb.length)
    expect(body.includes(bomb.subarray(0, 1000))).toBe(true)
  })
})

describe('a header of a target', () => {
  it('cannot add a header or a response', async () => {
    const target = await startTarget((_request, response) => {
      response.socket?.end('HTTP/1.1 200 OK\r\nX-A: b\rSet-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n')
    })
    const got = await ask(await proxyFor({ policies: {} }), target.url)
    expect(got.headers['set-cookie']).toBeUndefined()
    expect(got.status).toBe(502)
  })
})

describe('the addresses of metadata services', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://metadata.google.internal/',
    'http://100.100.100.200/',
    'http://0xA9FEA9FE/',
    'http://2852039166/',
    'http://[::ffff:169.254.169.254]/',
    'http://127.1/',
    'http://localhost./',
  ])('are answered with 403: %s', async (url) => {
    const resolve = async () => [{ address: '169.254.169.254', family: 4 }]
    const proxy = await proxyFor({ allowPrivateTargets: false, resolve })
    expect((await ask(proxy, url)).status).toBe(403)
  })
})
