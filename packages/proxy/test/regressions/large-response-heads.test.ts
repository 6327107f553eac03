import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { proxyPool } from '../../src/index.js'
import { proxyFor, raw } from '../helpers/clients.js'
import { closeWithTest, startTarget } from '../helpers/target.js'
import { startSocks } from '../helpers/upstreams.js'

/** A response head of about so many bytes. */
const headersOf = (bytes: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: bytes / 1000 }, (_, i) => [`x-${i}`, 'x'.repeat(990)]))

/** An HTTP proxy whose answers have a head of about so many bytes. */
async function startUpstream(bytes: number): Promise<string> {
  const server = createServer((_req, res) => res.writeHead(200, headersOf(bytes)).end('done'))
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('a response head above 16 kB', () => {
  it.each([
    [40_000, undefined, 200],
    [40_000, 20_000, 502],
    [200_000, undefined, 502],
    [200_000, 300_000, 200],
  ])('of %i bytes with maxHeaderSize %s is answered with %i', async (bytes, maxHeaderSize, status) => {
    const target = await startTarget((_request, response) => {
      response.writeHead(200, headersOf(bytes)).end('done')
    })
    const pools = [[await startUpstream(bytes)], [(await startSocks()).url]].map((members) =>
      proxyPool({ id: 'p', members }),
    )
    for (const pool of [undefined, ...pools]) {
      const policies = { once: { retry: false as const } }
      const proxy = await proxyFor({
        policies,
        ...(pool && { pool }),
        ...(maxHeaderSize && { maxHeaderSize }),
      })
      const got = await raw(
        proxy,
        `GET ${target.url}/ HTTP/1.1\r\nHost: a\r\nX-Holdfast-Policy: once\r\nConnection: close\r\n\r\n`,
      )
      expect(got.slice(0, 12)).toBe(`HTTP/1.1 ${status}`)
    }
  })

  it('has the limit of each proxy that shares a pool', async () => {
    const pool = proxyPool({ id: 'p', members: [await startUpstream(40_000)] })
    const request = `GET http://a.example/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
    const narrow = await proxyFor({ pool, maxHeaderSize: 20_000, policies: {} })
    const wide = await proxyFor({ pool, maxHeaderSize: 100_000 })
    expect(await raw(wide, request)).toMatch(/^HTTP\/1\.1 200 /)
    expect(await raw(narrow, request)).toMatch(/^HTTP\/1\.1 502 /)
    expect(await raw(wide, request)).toMatch(/^HTTP\/1\.1 200 /)
  })
})
