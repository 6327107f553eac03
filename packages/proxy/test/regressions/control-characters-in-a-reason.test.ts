import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { proxyFor, raw } from '../kit/clients.js'
import { closeWithTest } from '../kit/target.js'

// The error of the first head was thrown again by the head of the error response, which ended the process.
it.each(['\x00', '\x01', '\x0b', '\x1b', '\x7f'])(
  'a reason phrase with %j is not forwarded',
  async (character) => {
    const server = createServer((socket) => {
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 a${character}b\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone`),
      )
    })
    closeWithTest(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const proxy = await proxyFor({ policies: { once: { retry: false } } })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    for (let request = 0; request < 2; request++) {
      const received = await raw(
        proxy,
        `GET ${url} HTTP/1.1\r\nHost: a\r\nX-Holdfast-Policy: once\r\nConnection: close\r\n\r\n`,
      )
      expect(received).toMatch(/^HTTP\/1\.1 (200|502) [\t\x20-\x7e]*\r\n/)
    }
  },
)
