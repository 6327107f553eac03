import type { IncomingMessage } from 'node:http'
import {
  type ErrorResponse,
  NO_HOST,
  SEVERAL_HOSTS,
  UNFRAMED,
  UNKNOWN_CODING,
  UNKNOWN_VERSION,
} from './error-responses.js'

/** Alternating header names and values, as on the wire. */
export type FlatHeaders = string[]

/** The parsed head of a request: the headers for the target, and those for the proxy. */
export interface RequestHead {
  readonly headers: FlatHeaders
  authorization: string | undefined
  policy: string | undefined
  contentLength: number
  isChunked: boolean
  hasIdempotencyKey: boolean
  /** The response to a request that another server could parse differently. */
  problem: ErrorResponse | undefined
}

/** Headers that belong to one connection and not to the message. */
export const HOP_BY_HOP_HEADERS: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Further request headers that are not forwarded: they are set again for the next server, or are for the proxy. */
const DROPPED_REQUEST_HEADERS = new Set([
  ...HOP_BY_HOP_HEADERS,
  'host',
  'expect',
  'content-length',
  'x-holdfast-policy',
  'http2-settings',
])

const DROPPED_RESPONSE_HEADERS = new Set(HOP_BY_HOP_HEADERS)

/** Removes the headers that `Connection` lists. */
function removeConnectionHeaders(headers: FlatHeaders, connection: string): FlatHeaders {
  const named = new Set(connection.toLowerCase().split(/[\s,]+/))
  const kept: FlatHeaders = []
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    if (!named.has(name.toLowerCase())) kept.push(name, headers[i + 1] as string)
  }
  return kept
}

/** The response to an invalid Transfer-Encoding line; `hasOthers` if it is not the first one. Only chunked delimits a body. */
function problemOfCoding(hasOthers: boolean, value: string): ErrorResponse | undefined {
  const codings = value.toLowerCase().split(',')
  if (codings.at(-1)?.trim() !== 'chunked') return UNFRAMED
  return hasOthers || codings.length > 1 ? UNKNOWN_CODING : undefined
}

const COMMON_CONNECTION_PATTERN = /^\s*(keep-alive|close)\s*$/i

/** A host with an optional port, or nothing (RFC 9112, section 3.2). */
const HOST_PATTERN = /^(?:\[[\da-f:.]+(?:%25[\w.~-]+)?\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i

/** The versions of the protocol. The parser of Node also accepts 0.9, which is a request line without a version, and 2.0. */
const VERSIONS = ['1.1', '1.0']

/** Parses the head of a request. */
export function parseRequestHead({
  rawHeaders: raw,
  httpVersion,
  method,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'method'>): RequestHead {
  const headers: FlatHeaders = []
  const head: RequestHead = {
    headers,
    authorization: undefined,
    policy: undefined,
    contentLength: 0,
    isChunked: false,
    hasIdempotencyKey: false,
    problem: undefined,
  }
  let connection = ''
  let hosts = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    const lower = name.toLowerCase()
    if (!DROPPED_REQUEST_HEADERS.has(lower)) {
      headers.push(name, value)
      if (lower === 'idempotency-key') head.hasIdempotencyKey = true
    } else if (lower === 'connection') connection += `,${value}`
    else if (lower === 'proxy-authorization') head.authorization = value
    else if (lower === 'x-holdfast-policy') head.policy = value
    else if (lower === 'content-length') head.contentLength = Number(value)
    else if (lower === 'host') {
      hosts++
      if (!HOST_PATTERN.test(value)) head.problem ??= NO_HOST
    } else if (lower === 'transfer-encoding') {
      head.problem = problemOfCoding(head.isChunked, value) ?? head.problem
      head.isChunked = true
    }
  }
  if (hosts > 1) head.problem ??= SEVERAL_HOSTS
  // Clients omit it with CONNECT, whose target is a host and a port.
  if (hosts === 0 && httpVersion === '1.1' && method !== 'CONNECT') head.problem ??= NO_HOST
  if (!VERSIONS.includes(httpVersion)) head.problem = UNKNOWN_VERSION
  if (connection === '' || COMMON_CONNECTION_PATTERN.test(connection.slice(1))) return head
  return { ...head, headers: removeConnectionHeaders(headers, connection) }
}

/** The headers of a response for the client, and the length of its body; -1 where it is not known. */
export interface UpstreamResponseHead {
  readonly headers: FlatHeaders
  readonly contentLength: number
}

const textOf = (raw: Buffer | string): string => (typeof raw === 'string' ? raw : raw.toString('latin1'))

/** Parses the head of a response. The Content-Length of a 204 is dropped. */
export function parseResponseHead(status: number, raw: readonly (Buffer | string)[]): UpstreamResponseHead {
  const headers: FlatHeaders = []
  let connection = ''
  let contentLength = -1
  for (let i = 0; i < raw.length; i += 2) {
    const name = textOf(raw[i] as Buffer | string)
    const value = textOf(raw[i + 1] as Buffer | string)
    const lower = name.toLowerCase()
    if (!DROPPED_RESPONSE_HEADERS.has(lower)) {
      if (lower === 'content-length') {
        if (status === 204) continue
        contentLength = Number(value)
      }
      headers.push(name, value)
    } else if (lower === 'connection') connection += `,${value}`
  }
  if (connection === '' || COMMON_CONNECTION_PATTERN.test(connection.slice(1)))
    return { headers, contentLength }
  return { headers: removeConnectionHeaders(headers, connection), contentLength }
}

/** Headers as an object with lower-case names. */
export function toHeaderObject(flat: FlatHeaders): Record<string, string> {
  const found: Record<string, string> = {}
  for (let i = 0; i < flat.length; i += 2) found[(flat[i] as string).toLowerCase()] = flat[i + 1] as string
  return found
}
