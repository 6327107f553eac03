import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { Readable } from 'node:stream'
import { ProxyUpstream } from '@holdfast/proxy'
import { publicLookup } from './targets.js'

/** The most of an answer that is kept. */
const MOST = 1_048_576

/** What is sent. */
export interface Outgoing {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  readonly allowPrivate: boolean
}

/** What came back. */
export interface Incoming {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
  /** Whether there was more of it. */
  readonly truncated: boolean
}

type RawHeaders = Record<string, string | string[] | undefined>

const flat = (headers: RawHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  )

async function received(status: number, headers: RawHeaders, stream: Readable): Promise<Incoming> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size > MOST) break
  }
  const truncated = size > MOST
  return { status, headers: flat(headers), body: Buffer.concat(chunks).subarray(0, MOST), truncated }
}

/** Sends from here. */
function direct({ url, method, headers, body, signal, allowPrivate }: Outgoing): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestSecure : requestPlain
    const options = { method, headers, signal, ...(allowPrivate ? {} : { lookup: publicLookup }) }
    request(url, options, (answer) => {
      received(answer.statusCode ?? 0, answer.headers, answer).then(resolve, reject)
    })
      .on('error', reject)
      // As bytes: a text would be joined to the headers, and they to its encoding.
      .end(body === undefined ? undefined : Buffer.from(body))
  })
}

/** Sends through a proxy. */
async function through(upstream: ProxyUpstream, outgoing: Outgoing): Promise<Incoming> {
  const { url, method, headers, body, signal } = outgoing
  const answer = await upstream.dispatcher.request({
    origin: url.origin,
    path: url.pathname + url.search,
    method: method as 'GET',
    headers: { ...headers },
    body: body ?? null,
    signal,
  })
  return received(answer.statusCode, answer.headers, answer.body)
}

const upstreams = new WeakMap<object, ProxyUpstream>()

/** The proxy that a member's value stands for, made once so that its connections are kept. */
function upstreamOf(value: unknown): ProxyUpstream {
  if (value instanceof ProxyUpstream) return value
  const key = Object(value) as { url?: string }
  const known = upstreams.get(key) ?? new ProxyUpstream(key.url ?? '')
  upstreams.set(key, known)
  return known
}

/** Sends a request through a member of a pool, or from here where there is none. */
export const send = (outgoing: Outgoing, member: { value: unknown } | undefined): Promise<Incoming> =>
  member === undefined ? direct(outgoing) : through(upstreamOf(member.value), outgoing)
