import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Readable } from 'node:stream'
import { ProxyUpstream } from '@holdfast/proxy'
import { lookupPublic } from './targets.js'

/** The most of an answer that is kept. */
const MAX_BODY_BYTES = 1_048_576

/** What is sent. */
export interface OutgoingRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  readonly allowPrivate: boolean
}

/** What came back. */
export interface IncomingResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** Whether there was more of it. */
  readonly isTruncated: boolean
}

type RawHeaders = Record<string, string | string[] | undefined>

const flattenHeaders = (headers: RawHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )

async function readResponse(
  status: number,
  headers: RawHeaders,
  stream: Readable,
): Promise<IncomingResponse> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > MAX_BODY_BYTES) break
  }
  const isTruncated = size > MAX_BODY_BYTES
  return {
    status,
    headers: flattenHeaders(headers),
    body: Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES),
    isTruncated,
  }
}

/** Sends from here. */
function sendDirect({
  url,
  method,
  headers,
  body,
  signal,
  allowPrivate,
}: OutgoingRequest): Promise<IncomingResponse> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestSecure : requestPlain
    const options = { method, headers, signal, ...(allowPrivate ? {} : { lookup: lookupPublic }) }
    request(url, options, (answer) => {
      readResponse(answer.statusCode ?? 0, answer.headers, answer).then(resolve, reject)
    })
      .on('error', reject)
      // As bytes: a text would be joined to the headers, and they to its encoding.
      .end(body === undefined ? undefined : Buffer.from(body))
  })
}

/** Sends through a proxy. */
async function sendThroughProxy(
  upstream: ProxyUpstream,
  outgoing: OutgoingRequest,
): Promise<IncomingResponse> {
  const { url, method, headers, body, signal } = outgoing
  const answer = await upstream.dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: method as 'GET',
    headers: { ...headers },
    body: body ?? null,
    signal,
  })
  return readResponse(answer.statusCode, answer.headers, answer.body)
}

const upstreamByValue = new WeakMap<object, ProxyUpstream>()

/** The proxy that a member's value stands for, made once so that its connections are kept. */
function upstreamOf(value: unknown): ProxyUpstream {
  if (value instanceof ProxyUpstream) return value
  const key = Object(value) as { url?: string }
  const known = upstreamByValue.get(key) ?? new ProxyUpstream(key.url ?? '')
  upstreamByValue.set(key, known)
  return known
}

/** Sends a request through a member of a pool, or from here where there is none. */
export const sendRequest = (
  outgoing: OutgoingRequest,
  member: { value: unknown } | undefined,
): Promise<IncomingResponse> =>
  member === undefined ? sendDirect(outgoing) : sendThroughProxy(upstreamOf(member.value), outgoing)
