import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, HTTP_STATUS_BY_CODE } from '../http/error-codes.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'

/** The response to a request that is rejected before it reaches the app. */
interface MalformedRequest {
  readonly code: ErrorCode
  /** A more specific status than that of the code. */
  readonly status?: number
  readonly message: string
}

const statusOf = ({ code, status = HTTP_STATUS_BY_CODE[code] }: MalformedRequest): number => status

const formatErrorBody = ({ code, message }: MalformedRequest): string =>
  JSON.stringify({ error: code, message })

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
  outgoing.writeHead(statusOf(problem), errorHeaders(body)).end(body)
}

const countHeader = (raw: readonly string[], name: string): number =>
  raw.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length

/** The problem of a head that the parser of Node accepts, but that a second server could parse differently. */
export function findHeadProblem({
  rawHeaders,
  headers,
  httpVersion,
}: IncomingMessage): MalformedRequest | undefined {
  const hosts = countHeader(rawHeaders, 'host')
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1'))
    return {
      code: 'BAD_REQUEST',
      message: `expected one Host header, got ${hosts === 0 ? 'none' : 'several'}`,
    }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return { code: 'BAD_REQUEST', status: 501, message: 'expected the transfer coding chunked, got another' }
  return undefined
}

/** The responses to errors of the parser and to timeouts of Node. Every other error is NOT_HTTP. */
const PROBLEM_BY_NODE_CODE: Record<string, MalformedRequest> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'BAD_REQUEST',
    status: 408,
    message: 'the request did not arrive in time',
  },
  HPE_HEADER_OVERFLOW: {
    code: 'BAD_REQUEST',
    status: 431,
    message: 'the headers of the request are too large',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: {
    code: 'PAYLOAD_TOO_LARGE',
    message: 'the chunk extensions of the request are too large',
  },
}
const NOT_HTTP: MalformedRequest = { code: 'BAD_REQUEST', message: 'the request is not valid HTTP' }

const NO_TUNNELS: MalformedRequest = {
  code: 'METHOD_NOT_ALLOWED',
  message:
    'expected a request to the API, got CONNECT; the forward proxy listens on another port (proxy.port)',
}

/** Answers on a connection that has no response object, and closes it. */
function answerOn(socket: Socket, problem: MalformedRequest): void {
  const body = formatErrorBody(problem)
  const head = Object.entries(errorHeaders(body)).map(([name, value]) => `${name}: ${value}\r\n`)
  const status = statusOf(problem)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`)
  socket.destroySoon()
}

/** Answers requests that Node cannot parse in the same form and with the same headers as all others. */
export function handleMalformed(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = (socket as { _httpMessage?: ServerResponse | null })._httpMessage
    // Once a response has begun, anything written here would be read as part of it.
    if (!socket.writable || error.code === 'ECONNRESET' || response?.headersSent === true) socket.destroy()
    else answerOn(socket, PROBLEM_BY_NODE_CODE[error.code ?? ''] ?? NOT_HTTP)
  })
  server.on('connect', (_: IncomingMessage, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    answerOn(socket, NO_TUNNELS)
  })
  server.on('checkExpectation', (_: IncomingMessage, outgoing: ServerResponse) =>
    rejectMalformed(outgoing, {
      code: 'BAD_REQUEST',
      status: 417,
      message: 'expected Expect: 100-continue, got another expectation',
    }),
  )
}
