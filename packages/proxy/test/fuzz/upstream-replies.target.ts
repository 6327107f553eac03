import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import { hashOf, splitByHash } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { openTunnel } from '../../src/connect/tunnel.js'
import { ProxyUpstream } from '../../src/connect/upstream.js'
import { ProxyConnectionError } from '../../src/errors.js'
import { turn } from '../helpers/until.js'

const LANES = 8
const PASSWORD = 'hunter2-of-the-proxy'

/** Long enough for a busy machine, and short enough for the few cases in which the proxy says nothing more. */
const CONNECT_TIMEOUT_MS = 1000

/** The largest head of a response to CONNECT. */
const MAX_HEAD_BYTES = 16_384

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
    fc.constantFrom('\x05\x00', '\x05\x02\x01\x00', '\x05\x02', '\x05\xff', '\x04\x5a', '\x05', ''),
    fc.constantFrom('', '', '\x01\x00', '\x01\x01'),
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
    const code = Number(/^HTTP\/1\.[01] (\d{3})(?= |\r?\n)/.exec(rest)?.[1])
    if (lines === undefined || lines.length > MAX_HEAD_BYTES) return undefined
    if (!(code >= 100 && code < 300) || code === 101) return undefined
    rest = rest.slice(lines.length)
    if (code >= 200) return rest
  }
  return undefined
}

/** The length of the address in a SOCKS5 reply by its type (RFC 1928, section 6); undefined for other types. */
function addressLength(reply: string): number | undefined {
  const [type, length] = [reply.charCodeAt(3), reply.charCodeAt(4)] as const
  return type === 1 ? 4 : type === 3 ? 1 + length : type === 4 ? 16 : undefined
}

/** The bytes after the replies of a SOCKS5 proxy to a client with a password, if they open the tunnel. */
function bytesAfterSocks(reply: string): string | undefined {
  if (!reply.startsWith('\x05\0') && !reply.startsWith('\x05\x02')) return undefined
  const hasPassword = reply[1] === '\x02'
  // RFC 1929: the version of the reply about the password is not compared, and 0 is success.
  if (hasPassword && reply[3] !== '\0') return undefined
  const last = reply.slice(hasPassword ? 4 : 2)
  const length = addressLength(last)
  if (!last.startsWith('\x05\0') || length === undefined) return undefined
  const end = 4 + length + 2
  return last.length >= end ? last.slice(end) : undefined
}

/** Reads until the other side closes the connection, or at least so many bytes have arrived. */
const readUpTo = (socket: Socket, enough: number): Promise<string> =>
  new Promise((resolve) => {
    let received = ''
    if (enough === 0) socket.destroy()
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
      if (received.length >= enough) socket.destroy()
    })
    socket.on('error', () => {}).on('close', () => resolve(received))
    socket.on('end', () => socket.destroy())
    socket.resume()
  })

/** The library for SOCKS5 has a timeout of its own, which is an error of the proxy. */
const isTimeout = (error: unknown): boolean =>
  (error as { code?: unknown }).code === 'ETIMEDOUT' || /timed out/.test((error as Error).message)

/** Fails for an error that is neither a fault of the proxy nor of the connection, and for one with the password. */
function checkError(error: unknown): void {
  const { message, syscall } = error as { message: string; syscall?: unknown }
  if (`${message} ${JSON.stringify(error)} ${String((error as Error).cause)}`.includes(PASSWORD))
    throw new Error('an error shows the password')
  if (!(error instanceof ProxyConnectionError) && typeof syscall !== 'string')
    throw new Error('an error that is not a fault of the proxy', { cause: error })
}

/** One proxy that sends the bytes of the current case to the next client. */
class ReplyingProxy {
  steps: readonly Buffer[] = []
  staysOpen = false
  readonly server: Server
  readonly sockets = new Set<Socket>()

  constructor() {
    this.server = createServer((socket) => {
      this.sockets.add(socket)
      let messages = 0
      let wake = (): void => {}
      socket.on('data', () => {
        messages++
        wake()
      })
      socket
        .on('error', () => {})
        .on('close', () => {
          this.sockets.delete(socket)
          wake()
        })
      /** Waits for a number of messages of the client, or for the end of the connection. */
      const received = async (count: number): Promise<void> => {
        while (messages < count && !socket.destroyed) await new Promise<void>((resolve) => (wake = resolve))
      }
      void this.send(socket, received)
    })
  }

  private async send(socket: Socket, received: (count: number) => Promise<void>): Promise<void> {
    const { steps, staysOpen } = this
    for (const [i, step] of steps.entries()) {
      await received(i + 1)
      for (const piece of splitByHash(step)) {
        if (!socket.destroyed) socket.write(piece)
        await turn()
      }
    }
    if (!staysOpen) socket.end()
  }
}

/** Splits a reply of a SOCKS5 proxy: each part is the answer to one message of the client. */
function socksSteps(reply: Buffer): Buffer[] {
  const end = reply[1] === 2 ? 4 : 2
  return [reply.subarray(0, 2), reply.subarray(2, end), reply.subarray(end)].filter(
    ({ length }) => length > 0,
  )
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
    const counts = { H: { expected: 0, opened: 0, cases: 0 }, S: { expected: 0, opened: 0, cases: 0 } }
    return {
      async check(bytes, number) {
        const { proxy, http, socks } = lanes[number] as (typeof lanes)[0]
        const isHttp = bytes[0] === HTTP.charCodeAt(0)
        const bytesOfReply = bytes.subarray(1)
        proxy.steps = isHttp ? [bytesOfReply] : socksSteps(bytesOfReply)
        proxy.staysOpen = hashOf(bytes) % 64 === 0
        const reply = bytesOfReply.toString('latin1')
        const expected = isHttp ? bytesAfterHead(reply) : bytesAfterSocks(reply)
        const count = counts[isHttp ? HTTP : SOCKS]
        count.cases++
        if (expected !== undefined) count.expected++
        let socket: Socket
        try {
          socket = await openTunnel(isHttp ? http : socks, { host: 'target.example', port: 443 })
        } catch (error) {
          checkError(error)
          // A busy machine can exceed the timeout. How often it does is checked at the end.
          if (expected !== undefined && !isTimeout(error))
            throw new Error('the tunnel is not open after a valid reply', { cause: error })
          return
        }
        const read = await readUpTo(
          socket,
          proxy.staysOpen ? (expected ?? '').length : Number.POSITIVE_INFINITY,
        )
        if (expected === undefined) throw new Error('the tunnel is open after a reply that is not valid')
        if (read !== expected) throw new Error('the tunnel lost, changed or repeated bytes')
        count.opened++
      },
      async close() {
        for (const { proxy } of lanes) {
          for (const socket of proxy.sockets) socket.destroy()
          proxy.server.close()
        }
        for (const [kind, { cases, expected, opened }] of Object.entries(counts)) {
          if (cases < 100) continue
          if (expected < cases / 50)
            throw new Error(`${kind}: only ${expected} of ${cases} replies are valid`)
          if (opened < expected * 0.8)
            throw new Error(`${kind}: only ${opened} of ${expected} tunnels were opened`)
        }
      },
    }
  },
}
