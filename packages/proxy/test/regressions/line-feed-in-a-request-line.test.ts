// The parser of Node rejected a URL that a line feed ends as it rejects one with bytes outside ASCII, so the proxy continued with the
// next line as if that were the request.
import { expect, it } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { startTarget } from '../helpers/target.js'

it.each(['GET p\n', 'GET \n', 'GET p\r\n', 'GET p\n\n', 'GET p\n\xfc\n'])(
  'a line that is not a request (%j) is rejected, and the request behind it does not reach the target',
  async (line) => {
    const target = await startTarget()
    const proxy = await proxyFor()
    const follow = `GET ${target.url}/behind HTTP/1.1\r\nHost: a\r\n\r\n`
    const received = await raw(proxy, Buffer.from(line + follow, 'latin1'))
    expect(received).toMatch(/^HTTP\/1\.1 400 /)
    expect(received.match(/HTTP\/1\.1 /g)).toHaveLength(1)
    expect(target.arrived).toEqual([])
  },
)
