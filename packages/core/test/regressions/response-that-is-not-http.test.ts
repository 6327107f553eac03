// A parser error of undici without a code was classified as a programming error, because fetch wraps it in a TypeError.

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { classify } from '../../src/index.js'

/** The error of undici; its code is undefined when the response is truncated. */
class HTTPParserError extends Error {
  override readonly name = 'HTTPParserError'
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

const lost = { category: 'transient', kind: 'network_error' }

it.each([undefined, 'HPE_INVALID_CONSTANT', 'HPE_HEADER_OVERFLOW'])(
  'a truncated or invalid HTTP response is classified as a lost connection, with the code %s',
  (code) => {
    const parsing = new HTTPParserError('Response does not match the HTTP/1.1 protocol', code)
    expect(classify(parsing)).toEqual(lost)
    expect(classify(new TypeError('fetch failed', { cause: parsing }))).toEqual(lost)
  },
)

it('a real response that is not HTTP is classified as a lost connection', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.end('hello\r\n\r\n')))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  try {
    const error: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((thrown: unknown) => thrown)
    expect(classify(error)).toEqual(lost)
  } finally {
    server.close()
  }
})
