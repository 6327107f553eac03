import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import { hashOf, splitByHash } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { openTunnel } from '../../src/connect/tunnel.js'
import { ProxyUpstream } from '../../src/connect/upstream.js'
import { turn } from '../kit/until.js'

const LANES = 8
const PASSWORD = 'hunter2-of-the-proxy'

/** Long enough for a busy machine, and short enough for the few cases in which the proxy says nothing more. */
const CONNECT_TIMEOUT_MS = 300

const HTTP = 'H'
const SOCKS = 'S'

const status = fc.constantFrom(
  '200 OK',
  '200',
  '204 x',
  '299',
  '100 Continue',
  '101 Switching',
  '407 Auth',
  '503 x',
  '302 x',
  '99',
  '1000',
  '',
  'abc',
  '200\x0b',
)
const httpReply = fc
  .tuple(
    fc.constantFrom('HTTP/1.1 ', 'HTTP/1.0 ', 'HTTP/2 ', 'HTTP/1.1', 'http/1.1 ', '', 'SSH-2.0-', '\0'),
    status,
    fc.constantFrom('\r\n', '\n', '\r', ''),
    fc.array(
      fc.constantFrom(
        'Retry-After: 1\r\n',
        'Proxy-Authenticate: Basic\r\n',
        'X: y\n',
        ': \r\n',
        'Set-Cookie: a\r\n',
        `X: ${'x'.repeat(20_000)}\r\n`,
        '__proto__: x\r\n',
        '\r',
      ),
      { maxLength: 4 },
    ),
    fc.constantFrom('\r\n', '\n', '', '\r\n\r\n'),
    fc.constantFrom('', 'early bytes', '\r\n\r\n', '\0\x01'),
  )
  .map(
    ([version, code, end, fields, headEnd, rest]) =>
      `${version}${code}${end}${fields.join('')}${headEnd}${rest}`,
  )

const byte = fc.oneof(fc.constantFrom(0, 1, 2, 3, 4, 5, 255), fc.integer({ min: 0, max: 255 }))
const socksReply = fc
  .tuple(
    fc.constantFrom('\x05\x00', '\x05\x02', '\x05\xff', '\x04\x5a', '\x05', ''),
    fc.constantFrom('', '\x01\x00', '\x01\x01'),
    fc.constantFrom(
      '\x05\x00\x00\x01\x7f\0\0\x01\0\x50',
      '\x05\x05\x00\x01\0\0\0\0\0\0',
      '\x05\x00\x00\x03\x04host\0\x50',
      '\x05\x00\x00\x04',
      '',
    ),
    fc.array(byte, { maxLength: 40 }).map((bytes) => String.fromCharCode(...bytes)),
  )
  .map((parts) => parts.join(''))

/** The bytes after the head of the final response to CONNECT, if its status opens the tunnel. */
function bytesAfterHead(reply: string): string | undefined {
  let rest = reply
  for (let interim = 0; interim <= 10; interim++) {
    const lines = /^(?:[^\n]*\n)*?\r?\n/.exec(rest)?.[0]
    const code = Number(/^HTTP\/1\.[01] (\d{3})(?=[ \r\n])/.exec(rest)?.[1])
    if (lines === undefined || !(code >= 100 && code < 300) || code === 101) return undefined
    rest = rest.slice(lines.length)
    if (code >= 200) return rest
  }
  return undefined
}

/** Reads until the other side closes the connection. */
const readAll = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {})
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
    socket.on('end', () => socket.destroy())
    socket.resume()
  })

/** One proxy that sends the bytes of the current case to the next client. */
class ReplyingProxy {
  reply: Buffer = Buffer.alloc(0)
  staysOpen = false
  readonly server: Server
  readonly sockets = new Set<Socket>()

  constructor() {
    this.server = createServer((socket) => {
      this.sockets.add(socket)
      socket.on('error', () => {}).on('close', () => this.sockets.delete(socket))
      socket.resume()
      void this.send(socket)
    })
  }

  private async send(socket: Socket): Promise<void> {
    const { reply, staysOpen } = this
    for (const piece of splitByHash(reply)) {
      socket.write(piece)
      await turn()
    }
    if (!staysOpen) socket.end()
  }
}

/** Replies of proxies to CONNECT and SOCKS5: every case ends, keeps the bytes after the reply, and shows no password. */
export const target: FuzzTarget = {
  name: 'upstream-replies',
  cases: fc
    .oneof(
      httpReply.map((reply) => HTTP + reply),
      socksReply.map((reply) => SOCKS + reply),
    )
    .map((text) => Buffer.from(text, 'latin1')),
  dictionary: [
    'HTTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    '\r\n',
    '\n',
    '\x05\x00',
    '\x05\x00\x00\x01',
    '\0\0\0\0\0\0',
    '\xff',
  ],
  concurrency: LANES,
  async open() {
    const lanes = await Promise.all(
      Array.from({ length: LANES }, async () => {
        const proxy = new ReplyingProxy()
        await new Promise<void>((resolve) => proxy.server.listen(0, '127.0.0.1', resolve))
        const { port } = proxy.server.address() as AddressInfo
        const upstreamOf = (scheme: string): ProxyUpstream =>
          new ProxyUpstream(`${scheme}://user:${PASSWORD}@127.0.0.1:${port}`, {
            connectTimeout: CONNECT_TIMEOUT_MS,
          })
        return { proxy, http: upstreamOf('http'), socks: upstreamOf('socks5') }
      }),
    )
    return {
      async check(bytes, number) {
        const { proxy, http, socks } = lanes[number] as (typeof lanes)[0]
        const isHttp = bytes[0] === HTTP.charCodeAt(0)
        proxy.reply = bytes.subarray(1)
        proxy.staysOpen = hashOf(bytes) % 64 === 0
        try {
          const socket = await openTunnel(isHttp ? http : socks, { host: 'target.example', port: 443 })
          if (proxy.staysOpen) {
            socket.destroy()
            return
          }
          const read = await readAll(socket)
          const reply = proxy.reply.toString('latin1')
          if (isHttp && read !== bytesAfterHead(reply)) throw new Error('the tunnel lost or repeated bytes')
          if (!reply.endsWith(read)) throw new Error('the tunnel changed bytes')
        } catch (error) {
          const text = `${(error as Error).message} ${JSON.stringify(error)}`
          if (text.startsWith('the tunnel ')) throw error
          if (text.includes(PASSWORD)) throw new Error('an error shows the password')
        }
      },
      async close() {
        for (const { proxy } of lanes) {
          for (const socket of proxy.sockets) socket.destroy()
          proxy.server.close()
        }
      },
    }
  },
}
