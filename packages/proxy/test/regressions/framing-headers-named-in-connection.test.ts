import { describe, expect, it } from 'vitest'
import { basic, proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

const LENGTH = 'Content-Length: 5\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

describe('a request whose upgrade is ignored', () => {
  it.each([
    ['Content-Length', LENGTH, 'hello'],
    ['Transfer-Encoding', CHUNKED, '5\r\nhello\r\n0\r\n\r\n'],
    ['Host', LENGTH, 'hello'],
    ['Proxy-Authorization', LENGTH, 'hello'],
    ['Keep-Alive, X-Hop, close', LENGTH, 'hello'],
  ])('is forwarded with its body if Connection lists %s', async (listed, framing, body) => {
    const target = await startTarget()
    const proxy = await proxyFor({ users: [{ name: 'ann', password: 'pw' }] })
    for (const version of ['1.1', '1.0']) {
      const response = await raw(
        proxy,
        `POST ${target.url}/ HTTP/${version}\r\nHost: a\r\nProxy-Authorization: ${basic('ann', 'pw')}\r\nX-Hop: secret\r\n` +
          `Connection: Upgrade, ${listed}\r\nUpgrade: h2c\r\n${framing}\r\n${body}`,
      )
      expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*POST \/ hello$/)
      expect(response).toMatch(/^connection: close\r$/im)
    }
    expect(target.arrived.map(({ body: received }) => received)).toEqual(['hello', 'hello'])
    const hop = listed.includes('X-Hop') ? [undefined, undefined] : ['secret', 'secret']
    expect(target.arrived.map(({ headers }) => headers['x-hop'])).toEqual(hop)
  })
})
