import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { proxyFor, raw } from '../helpers/clients.js'
import { closeWithTest } from '../helpers/target.js'

// The error of the first head was thrown again by the head of the error response, which ended the process.
const CHARACTERS = ['\x00', '\x01', '\x0b', '\x1b', '\x7f']

/** Starts a target that answers each request with this character in its reason phrase. Returns its URL. */
async function startTarget(character: string): Promise<string> {
  const server = createServer((socket) => {
    socket.once('data', () =>
      socket.end(`HTTP/1.1 200 a${character}b\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone`),
    )
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

it.each(CHARACTERS)('a reason phrase with %j is not forwarded', async (character) => {
  const url = await startTarget(character)
  const proxy = await proxyFor({ policies: { once: { retry: false } } })
  for (let request = 0; request < 2; request++) {
    const received = await raw(
      proxy,
      `GET ${url} HTTP/1.1\r\nHost: a\r\nX-Holdfast-Policy: once\r\nConnection: close\r\n\r\n`,
    )
    expect(received).toMatch(/^HTTP\/1\.1 (200|502) [\t\x20-\x7e]*\r\n/)
  }
})

it.each(CHARACTERS)('a reason phrase with %j in place of an upgrade is not forwarded', async (character) => {
  const url = await startTarget(character)
  const proxy = await proxyFor({})
  for (let request = 0; request < 2; request++) {
    const received = await raw(
      proxy,
      `GET ${url} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    expect(received).toMatch(/^HTTP\/1\.1 (200|502) [\t\x20-\x7e]*\r\n/)
  }
})
