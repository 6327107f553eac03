import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { classify, isHoldfastError } from 'holdfast'
import { ownErrorOf } from 'holdfast/internal'
import { PrivateTargetError } from '../targets/target-policy.js'
import { closeGracefully, lingerAfterResponse } from './linger.js'

/** An error response of the proxy itself. */
export interface ErrorResponse {
  readonly status: number
  readonly error: string
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

export const UNAUTHORIZED: ErrorResponse = {
  status: 407,
  error: 'UNAUTHORIZED',
  message: 'expected the name and password of a user of this proxy (Proxy-Authorization: Basic)',
  headers: { 'proxy-authenticate': 'Basic realm="holdfast"' },
}
/** The response of the status page, where the proxy is the origin server. */
export const UNAUTHORIZED_PAGE: ErrorResponse = {
  status: 401,
  error: 'UNAUTHORIZED',
  message: 'expected the name and password of a user of this proxy (Authorization: Basic)',
  headers: { 'www-authenticate': 'Basic realm="holdfast"' },
}

/** Too many wrong passwords came from an address; `wait` is in milliseconds. */
export const tooManyGuesses = (wait: number): ErrorResponse => ({
  status: 429,
  error: 'RATE_LIMITED',
  message: 'too many wrong passwords from this address',
  headers: { 'retry-after': String(Math.ceil(wait / 1000)) },
})

export const PORT_FORBIDDEN: ErrorResponse = {
  status: 403,
  error: 'FORBIDDEN',
  message: 'CONNECT to this port is not allowed (connectPorts, in the file proxy.connect_ports)',
}
export const UNKNOWN_CODING: ErrorResponse = {
  status: 501,
  error: 'NOT_IMPLEMENTED',
  message: 'expected the transfer coding chunked, got another one',
  headers: { connection: 'close' },
}
export const UNFRAMED: ErrorResponse = {
  status: 400,
  error: 'BAD_REQUEST',
  message: 'expected chunked as the last transfer coding, got another one',
  headers: { connection: 'close' },
}
export const UNKNOWN_VERSION: ErrorResponse = {
  status: 400,
  error: 'BAD_REQUEST',
  message: 'expected the version 1.1 or 1.0 of HTTP at the end of the request line',
  headers: { connection: 'close' },
}
export const UNKNOWN_EXPECTATION: ErrorResponse = {
  status: 417,
  error: 'BAD_REQUEST',
  message: 'expected Expect: 100-continue, got another expectation',
  headers: { connection: 'close' },
}
export const SEVERAL_HOSTS: ErrorResponse = {
  status: 400,
  error: 'BAD_REQUEST',
  message: 'expected one Host header, got several',
  headers: { connection: 'close' },
}
export const NO_HOST: ErrorResponse = {
  status: 400,
  error: 'BAD_REQUEST',
  message: 'expected a Host header with a host and a port, got none or an invalid one',
  headers: { connection: 'close' },
}
export const FORBIDDEN: ErrorResponse = {
  status: 403,
  error: 'FORBIDDEN',
  message: 'the target is a private address or name; allowPrivateTargets allows it',
}
export const BAD_TARGET: ErrorResponse = {
  status: 400,
  error: 'BAD_REQUEST',
  message:
    'expected GET http://host/path HTTP/1.1 or CONNECT host:port HTTP/1.1, since this is a forward proxy',
}
export const NOT_FOUND: ErrorResponse = {
  status: 404,
  error: 'NOT_FOUND',
  message: 'not found: the only page of this forward proxy is /',
}

/** Whether a guard rejected the call with this code, so that a later call can succeed. */
const isRejection = (code: string): boolean => ownErrorOf(code)?.[2] !== undefined

const MESSAGE_BY_CODE: Readonly<Record<string, string>> = {
  POOL_UNAVAILABLE: 'no proxy of the pool is available',
  NETWORK_DOWN: 'the network of the proxy is down',
  CIRCUIT_OPEN: 'the circuit breaker is open',
  BULKHEAD_FULL: 'too many concurrent calls',
  CANCELLED: 'the call was cancelled',
}

/** The response to an error. It does not contain the message of the error, which can name proxies or members. */
export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof PrivateTargetError || (error as Error)?.cause instanceof PrivateTargetError)
    return FORBIDDEN
  const { kind, httpStatus, retryAfter } = classify(error)
  const code = isHoldfastError(error) ? error.code : undefined
  if (code === 'POLICY_NOT_FOUND' || code === 'INVALID_OPTIONS')
    return { status: 400, error: code, message: 'x-holdfast-policy: policy not found' }
  if ((code !== undefined && isRejection(code)) || httpStatus === 429) {
    const known = code === undefined ? 'UPSTREAM_RATE_LIMITED' : code
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfter / 1000)) }
    return {
      status: 503,
      error: known,
      message: MESSAGE_BY_CODE[known] ?? 'retry later',
      headers,
    }
  }
  if (kind === 'timeout' || httpStatus === 504)
    return { status: 504, error: code ?? 'UPSTREAM_TIMEOUT', message: 'no response in time' }
  if ((error as { code?: unknown })?.code === 'UND_ERR_INVALID_ARG')
    return { status: 400, error: 'BAD_REQUEST', message: 'the request cannot be forwarded' }
  return { status: 502, error: 'UPSTREAM_FAILED', message: 'no response from the target' }
}

/** Headers that stop a browser from sniffing the content type of a response and from showing it in a frame. */
export const BROWSER_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

const formatBody = ({ error, message }: ErrorResponse): string => `${JSON.stringify({ error, message })}\n`

/** Whether a response can still be sent. A pipelined response has no socket yet, but its request has. */
export const canRespond = (res: ServerResponse): boolean =>
  !res.destroyed && !res.writableEnded && res.req.socket.writable

/** Sends an error response to a plain request. */
export function sendError(res: ServerResponse, errorResponse: ErrorResponse): void {
  if (!canRespond(res)) return
  if (res.headersSent) {
    res.destroy()
    return
  }
  const body = formatBody(errorResponse)
  // The rest of the request is not read.
  const { 'content-length': announced = '0', 'transfer-encoding': chunked } = res.req.headers
  if (!res.req.complete && (announced !== '0' || chunked)) res.shouldKeepAlive = false
  if (!res.shouldKeepAlive) lingerAfterResponse(res.req.socket)
  // A head that could not be written has left its reason phrase, which would make this one fail too.
  res.statusMessage = ''
  res.writeHead(errorResponse.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...BROWSER_HEADERS,
    ...errorResponse.headers,
  })
  res.end(res.req.method === 'HEAD' ? undefined : body)
}

/** Sends an error response over a socket and closes it. */
export function sendErrorOnSocket(socket: Socket, errorResponse: ErrorResponse): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const body = formatBody(errorResponse)
  const headers = Object.entries({
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...errorResponse.headers,
  })
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  socket.end(`HTTP/1.1 ${errorResponse.status} ${STATUS_CODES[errorResponse.status]}\r\n${lines}\r\n${body}`)
  closeGracefully(socket)
}
