import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '../http/codes.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'

/** Why a request is rejected before it reaches the app. */
interface MalformedRequest {
  readonly status: number
  readonly message: string
}

/** The codes of statuses that have one of their own. */
const CODES: Record<number, ErrorCode> = { 405: 'METHOD_NOT_ALLOWED', 413: 'PAYLOAD_TOO_LARGE' }

const formatErrorBody = ({ status, message }: MalformedRequest): string =>
  JSON.stringify({ error: CODES[status] ?? 'BAD_REQUEST', message })

const errorHeaders = (body: string): Record<string, string> => ({
  ...SECURITY_HEADERS,
  'x-request-id': randomUUID(),
  'content-type': 'application/json',
  'content-length': String(Buffer.byteLength(body)),
  connection: 'close',
})

/** Answers a request that must not reach the app, and closes its connection. */
export function rejectMalformed(outgoing: ServerResponse, problem: MalformedRequest): void {
  const body = formatErrorBody(problem)
  outgoing.writeHead(problem.status, errorHeaders(body)).end(body)
}

const countHeader = (raw: readonly string[], name: string): number =>
  raw.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length

/** Why a head that Node's parser accepts is rejected: two servers in a row could read it differently. */
export function findHeadProblem({
  rawHeaders,
  headers,
  httpVersion,
}: IncomingMessage): MalformedRequest | undefined {
  const hosts = countHeader(rawHeaders, 'host')
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return { status: 400, message: `expected one Host header, got ${hosts === 0 ? 'none' : 'several'}` }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return { status: 501, message: 'expected the transfer coding chunked alone, got another' }
  return undefined
}

/** What the errors of Node's parser and timeouts are answered with; every other one is 400. */
const PROBLEM_BY_CODE: Record<string, MalformedRequest> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not arrive in time' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the headers of the request are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    status: 413,
    message: 'the chunk extensions of the request are too large',
  },
}
const NOT_HTTP: MalformedRequest = { status: 400, message: 'the request is not valid HTTP' }

const NO_TUNNELS: MalformedRequest = {
  status: 405,
  message:
    'expected a request to the API, got CONNECT; the forward proxy listens on another port (proxy.port)',
}

/** Answers on a connection that has no response object, and closes it. */
function answerOn(socket: Socket, problem: MalformedRequest): void {
  const body = formatErrorBody(problem)
  const head = Object.entries(errorHeaders(body)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${head.join('')}\r\n${body}`)
  socket.destroySoon()
}

/** Answers requests that Node cannot parse in the same form and with the same headers as all others. */
export function handleMalformed(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const answer = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
    // Once a response has begun, anything written here would be read as part of it.
    if (!socket.writable || error.code === 'ECONNRESET' || answer?.headersSent === true) socket.destroy()
    else answerOn(socket, PROBLEM_BY_CODE[error.code ?? ''] ?? NOT_HTTP)
  })
  server.on('connect', (_: IncomingMessage, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    answerOn(socket, NO_TUNNELS)
  })
  server.on('checkExpectation', (_: IncomingMessage, outgoing: ServerResponse) =>
    rejectMalformed(outgoing, { status: 417, message: 'expected no expectation but 100-continue' }),
  )
}
