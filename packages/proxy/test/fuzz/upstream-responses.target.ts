import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { guard } from 'holdfast'
import { splitByHash } from '../../../../test/fuzz/random.js'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { startProxy } from '../../src/index.js'
import { turn } from '../helpers/until.js'

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

/** The bytes of chunks without their sizes, and whether the last chunk with its trailers is there. */
interface Chunks {
  readonly data: string
  readonly isComplete: boolean
  /** What follows the last chunk. */
  readonly rest: string
}

/** Reads chunks. Undefined if the bytes are not the beginning of a chunked body. */
function readChunks(bytes: string): Chunks | undefined {
  let data = ''
  for (let at = 0; ; ) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return { data, isComplete: false, rest: '' }
    const size = Number.parseInt(
      /^([0-9a-f]+)(?:[\t ]*;[^\r\n]*)?$/i.exec(bytes.slice(at, end))?.[1] ?? '',
      16,
    )
    if (Number.isNaN(size)) return undefined
    at = end + 2
    if (size === 0) {
      const trailers = /^(?:[^\r\n]+\r\n)*\r\n/.exec(bytes.slice(at))?.[0]
      if (trailers === undefined) return { data, isComplete: false, rest: '' }
      return { data, isComplete: true, rest: bytes.slice(at + trailers.length) }
    }
    data += bytes.slice(at, at + size)
    at += size
    if (at + 2 > bytes.length) return { data, isComplete: false, rest: '' }
    if (bytes.slice(at, at + 2) !== '\r\n') return undefined
    at += 2
  }
}

interface Received {
  readonly status: number
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** The bytes after the final head. */
  readonly rest: string
}

/** Parses what a client received: valid interim heads and one valid final head. @throws if one is not valid */
function parseReceived(received: string): Received {
  let rest = received
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) throw new Error('the client received a head that does not end')
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    if (!STATUS_LINE.test(statusLine)) throw new Error('the client received a status line that is not valid')
    const bad = lines.find((line) => !FIELD_LINE.test(line))
    if (bad !== undefined)
      throw new Error(`the client received a field that is not valid: ${JSON.stringify(bad)}`)
    rest = rest.slice(end + 4)
    const status = Number(statusLine.slice(9, 12))
    const fields = lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
    })
    if (status >= 200) return { status, fields, rest }
  }
}

/** The body of a response by its framing, and whether all of it arrived. @throws if the framing is not valid */
function bodyOf({ status, fields, rest }: Received): {
  body: string
  isComplete: boolean
  isChunked: boolean
} {
  const valuesOf = (name: string) => fields.filter(([own]) => own === name).map(([, value]) => value)
  const [lengths, codings] = [valuesOf('content-length'), valuesOf('transfer-encoding')]
  if (lengths.length + codings.length > 1) throw new Error('the client received several framings')
  if (status === 204 || status === 304) {
    if (rest !== '') throw new Error(`the client received a body with the status ${status}`)
    return { body: '', isComplete: true, isChunked: false }
  }
  if (codings.length > 0) {
    if (codings[0] !== 'chunked') throw new Error('the client received another transfer coding than chunked')
    const chunks = readChunks(rest)
    if (chunks === undefined) throw new Error('the client received chunks that are not valid')
    if (chunks.rest !== '') throw new Error('the client received bytes after the last chunk')
    return { body: chunks.data, isComplete: chunks.isComplete, isChunked: true }
  }
  if (lengths.length > 0) {
    const length = /^\d+$/.test(lengths[0] as string) ? Number(lengths[0]) : Number.NaN
    if (Number.isNaN(length)) throw new Error('the client received a length that is not a number')
    if (rest.length > length) throw new Error('the client received more bytes than the length')
    return { body: rest, isComplete: rest.length === length, isChunked: false }
  }
  if (!valuesOf('connection').some((value) => /\bclose\b/i.test(value)))
    throw new Error('the client received a body without an end')
  return { body: rest, isComplete: true, isChunked: false }
}

/** A head up to its empty line. The parser of Node accepts CRLF, LF and CR as the end of a line of a response. */
const HEAD = /^[^]*?(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))/

/** The body that the target sent after its final head, as a lenient reader finds it. */
function sentBody(sent: string): { raw: string; chunks: Chunks | undefined } {
  let rest = sent
  for (;;) {
    const head = HEAD.exec(rest)?.[0]
    if (head === undefined) return { raw: '', chunks: undefined }
    rest = rest.slice(head.length)
    if (/^\s*HTTP\/1\.[01] 1(?!01)\d\d/.test(head)) continue
    return {
      raw: rest,
      chunks: /^transfer-encoding:[^\r\n]*\bchunked[ \t]*$/im.test(head) ? readChunks(rest) : undefined,
    }
  }
}

/** The proxy's own answers have these fields and a length. */
const isOwnAnswer = ({ status, fields }: Received): boolean =>
  status >= 400 &&
  fields.some(([name, value]) => name === 'content-security-policy' && value.includes("'none'"))

/** What a case was: one of the branches that all must be reached. */
type Outcome = 'complete' | 'incomplete' | 'own' | 'none'

/** Fails if what a client received is not one valid response whose body is from the target, or an answer of the proxy. */
function checkReceived(received: string, sent: string): Outcome {
  const { raw, chunks } = sentBody(sent)
  if (received === '') {
    // A response whose first bytes of the body are not valid breaks the connection before the head is written.
    if (raw === '' && !HEAD.test(sent)) throw new Error('the client received nothing, not even an error')
    return 'none'
  }
  const response = parseReceived(received)
  const { body, isComplete, isChunked } = bodyOf(response)
  if (isOwnAnswer(response)) {
    if (!isComplete) throw new Error('an answer of the proxy is not complete')
    JSON.parse(body)
    return 'own'
  }
  if (!raw.includes(body) && !(chunks?.data ?? '').startsWith(body))
    throw new Error('the client received a body that the target did not send')
  if (isChunked && isComplete && chunks !== undefined && !chunks.isComplete)
    throw new Error('the client received a complete response from one that breaks off')
  return isComplete ? 'complete' : 'incomplete'
}

/** Sends a request and resolves with all bytes that came back. The client closes nothing, because a server may not answer one that has. */
const readResponse = (port: number, request: string): Promise<string> =>
  new Promise((resolve) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(request))
    socket
      .setEncoding('latin1')
      .on('data', (text: string) => (received += text))
      .on('error', () => {})
      .on('close', () => resolve(received))
  })

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
    const counts: Record<Outcome, number> = { complete: 0, incomplete: 0, own: 0, none: 0 }
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
        const request = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
        const received = await readResponse(proxy.port, request)
        counts[checkReceived(received, bytes.toString('latin1'))]++
      },
      async close() {
        await proxy.close({ timeout: 1 })
        for (const socket of sockets) socket.destroy()
        for (const server of servers) server.close()
        const cases = Object.values(counts).reduce((sum, count) => sum + count, 0)
        if (
          cases > 150 &&
          (counts.complete < cases / 20 || counts.own < cases / 20 || counts.none > cases / 4)
        )
          throw new Error(`the cases do not reach every branch: ${JSON.stringify(counts)}`)
      },
    }
  },
}
