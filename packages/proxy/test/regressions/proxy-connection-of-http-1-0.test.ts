// The parser of Node takes `Proxy-Connection: keep-alive` for `Connection: keep-alive`, so requests behind one of HTTP/1.0 were handled
// that a server in front of the proxy does not see.
import { expect, it } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

it.each([
  ['Proxy-Connection: keep-alive', ['/one']],
  ['X-Other: keep-alive', ['/one']],
  ['Connection: keep-alive', ['/one', '/two']],
])('after a request of HTTP/1.0 with %s these requests arrive: %j', async (field, expected) => {
  const target = await startTarget()
  const proxy = await proxyFor()
  const follow = `GET ${target.url}/two HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
  await raw(proxy, `GET ${target.url}/one HTTP/1.0\r\nHost: a\r\n${field}\r\n\r\n${follow}`)
  expect(target.arrived.map(({ url }) => url).toSorted()).toEqual(expected)
})
