import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, HTTP_STATUS_BY_CODE } from '../http/error-codes.js'
import { SECURITY_HEADERS } from '../http/security-headers.js'
import type { ConnectionTracker } from './connections.js'

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

/** The response to an `Expect` header that Node does not know. */
export const UNKNOWN_EXPECTATION: MalformedRequest = {
  code: 'BAD_REQUEST',
  status: 417,
  message: 'expected Expect: 100-continue, got another expectation',
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
export function handleMalformed(server: Server, connections: ConnectionTracker): void {
  const onError = (error: NodeJS.ErrnoException, socket: Socket): void => {
    const connection = connections.get(socket)
    // The rest of the request was not read, and may be there.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection?.hasStoppedReading)
      return connection.postponeTimeout(server.requestTimeout, () => onError(error, socket))
    if (error.code === 'ECONNRESET') socket.destroy()
    // Anything written before the responses to earlier requests would be read as one of them.
    else if (connection?.closeAfterPending()) {
      // Node closes the connection of a client that sends nothing more, also while requests are pending.
      if (error.code === 'HPE_INVALID_EOF_STATE') socket.destroy()
    } else if (socket.writable) answerOn(socket, PROBLEM_BY_NODE_CODE[error.code ?? ''] ?? NOT_HTTP)
    else socket.destroy()
  }
  server.on('clientError', onError)
  server.on('connect', (_: IncomingMessage, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    const connection = connections.get(socket)
    if (!connection?.closeAfterPending()) return answerOn(socket, NO_TUNNELS)
    socket.on('timeout', () => server.emit('timeout', socket))
    connection.serveWithoutParser()
  })
}
