import { type AddressInfo, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { guard } from 'holdfast'
import { splitByHash } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { startProxy } from '../../src/index.js'
import { turn } from '../kit/until.js'
import { exchange } from './connection.js'

const LANES = 8

const field = fc.constantFrom(
  'Content-Type: text/plain',
  'Set-Cookie: a=1',
  'X-Empty:',
  'Connection: close',
  'Connection: x-a, keep-alive',
  'Keep-Alive: timeout=99999999999',
  'Retry-After: 99999999999',
  'Content-Length: 3',
  'Content-Length: 4, 4',
  'Content-Length: -1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Content-Encoding: gzip',
  'Trailer: X-T',
  'Upgrade: websocket',
  'Proxy-Authenticate: Basic',
  ' folded',
  'X A: b',
  'X-Nul: a\0b',
  'X-Cr: a\rSet-Cookie: evil=1',
  'X-High: \xff',
  `X-Long: ${'x'.repeat(2000)}`,
  'Location: http://evil.example/\r\nSet-Cookie: evil=1',
)
const body = fc.constantFrom(
  '',
  'abc',
  '3\r\nabc\r\n0\r\n\r\n',
  '3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
  'ffffffff\r\nabc',
  'x'.repeat(70_000),
)
const response = fc
  .tuple(
    fc.constantFrom('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2', 'HTTP', ''),
    fc.constantFrom(
      '200',
      '200',
      '204',
      '304',
      '100',
      '103',
      '101',
      '206',
      '301',
      '407',
      '429',
      '500',
      '503',
      '000',
      '999',
      'abc',
      '-1',
      '',
    ),
    fc.constantFrom(' OK', '', ' ', ' a\tb', ' \xff', ' a\rb', ' \0'),
    fc.array(field, { maxLength: 5 }),
    body,
  )
  .map(
    ([version, status, reason, fields, data]) =>
      `${version} ${status}${reason}\r\n${fields.map((text) => `${text}\r\n`).join('')}\r\n${data}`,
  )

/** The status line and the fields of a response can contain no control characters. */
const STATUS_LINE = /^HTTP\/1\.1 [1-9]\d\d [\t\x20-\x7e\x80-\xff]*$/
const FIELD_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

/** Fails if what a client received is not one valid response head, after valid interim ones. */
function checkHead(received: string): void {
  let rest = received
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error('the client received a head that does not end')
    const [statusLine = '', ...fields] = rest.slice(0, end).split('\r\n')
    if (!STATUS_LINE.test(statusLine)) throw new Error('the client received a status line that is not valid')
    const bad = fields.find((line) => !FIELD_LINE.test(line))
    if (bad !== undefined)
      throw new Error(`the client received a field that is not valid: ${JSON.stringify(bad)}`)
    if (!statusLine.startsWith('HTTP/1.1 1')) return
    rest = rest.slice(end + 4)
  }
}

async function sendInPieces(socket: Socket, bytes: Buffer): Promise<void> {
  for (const piece of splitByHash(bytes)) {
    socket.write(piece)
    await turn()
  }
  socket.end()
}

/** Responses of targets: the client gets one valid response or a closed connection, and no case hangs. */
export const target: FuzzTarget = {
  name: 'upstream-responses',
  cases: fc
    .array(response, { minLength: 1, maxLength: 2 })
    .map((responses) => Buffer.from(responses.join(''), 'latin1')),
  dictionary: [
    '\r\n',
    '\n',
    '\r',
    '\0',
    '\r\n\r\n',
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.1 100 Continue\r\n\r\n',
    'Content-Length: 1\r\n',
    'Transfer-Encoding: chunked\r\n',
    '0\r\n\r\n',
  ],
  concurrency: LANES,
  async open() {
    const once = guard({ retry: false })
    const proxy = await startProxy({ port: 0, allowPrivateTargets: true, guard: () => once })
    const sockets = new Set<Socket>()
    const replies: Buffer[] = []
    const servers = await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        const server = createServer((socket) => {
          sockets.add(socket)
          socket.on('error', () => {}).on('close', () => sockets.delete(socket))
          socket.once('data', () => void sendInPieces(socket, replies[lane] as Buffer))
        })
        await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
        return server
      }),
    )
    return {
      async check(bytes, lane) {
        replies[lane] = bytes
        const { port } = (servers[lane] as (typeof servers)[0]).address() as AddressInfo
        checkHead(
          await exchange(
            proxy.port,
            Buffer.from(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: a\r\n\r\n`),
          ),
        )
      },
      async close() {
        await proxy.close({ timeout: 1 })
        for (const socket of sockets) socket.destroy()
        for (const server of servers) server.close()
      },
    }
  },
}
