import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Readable } from 'node:stream'
import type { ProxyUpstream } from '@holdfast/proxy'
import { upstreamOf } from '@holdfast/proxy/internal'
import { lookupPublic } from './targets.js'

/** The maximum size of a response body; the rest is dropped. */
const MAX_BODY_BYTES = 1_048_576

/** A request to a target. */
export interface OutgoingRequest {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  readonly allowPrivate: boolean
}

/** The response of a target. */
export interface IncomingResponse {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** Whether the body was longer than its maximum. */
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

/** Sends a request without a proxy. */
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
    request(url, options, (response) => {
      readResponse(response.statusCode ?? 0, response.headers, response).then(resolve, reject)
    })
      .on('error', reject)
      // As bytes, because Node would concatenate a string with the headers and encode both in the same way.
      .end(body === undefined ? undefined : Buffer.from(body))
  })
}

/** Sends a request through a proxy. */
async function sendThroughProxy(
  upstream: ProxyUpstream,
  outgoing: OutgoingRequest,
): Promise<IncomingResponse> {
  const { url, method, headers, body, signal } = outgoing
  const response = await upstream.dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: method as 'GET',
    headers: { ...headers },
    body: body ?? null,
    signal,
  })
  return readResponse(response.statusCode, response.headers, response.body)
}

/** Sends a request through a member of a pool, or directly where there is no member. */
export const sendRequest = (
  outgoing: OutgoingRequest,
  member: { value: unknown } | undefined,
): Promise<IncomingResponse> =>
  member === undefined ? sendDirect(outgoing) : sendThroughProxy(upstreamOf(member.value), outgoing)
