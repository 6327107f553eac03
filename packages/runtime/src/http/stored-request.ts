import type { Redact } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import type { FetchBody, FetchInput } from 'holdfast/http'
import type { HostedRequest } from 'holdfast/internal'
import { IDEMPOTENCY_KEY_HEADER } from 'holdfast/internal'
import { z } from 'zod'

/** Headers that are never stored. */
const CREDENTIAL_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** The payload of a dead letter that `hf.createFetch` stores. */
const storedRequestSchema = z.object({
  method: z.string().min(1),
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
  body_encoding: z.enum(['utf8', 'base64']).nullable(),
})

/** A request as a dead letter contains it, without credentials. `body` is text, or with `base64` any bytes. */
export type StoredRequest = z.infer<typeof storedRequestSchema>

/** Checks the payload of a dead letter. @throws INVALID_OPTIONS */
export function parseStoredRequest(payload: unknown): StoredRequest {
  const parsed = storedRequestSchema.safeParse(payload)
  if (parsed.success) return parsed.data
  throw new HoldfastError(
    'INVALID_OPTIONS',
    'the payload of the dead letter is not a request: expected { method, url, headers, body, body_encoding }',
  )
}

/** Whether the value of a key with this name is always secret. */
const isSecretName = (name: string, redact: Redact): boolean => redact({ [name]: 'value' })[name] !== 'value'

/** Whether a header is left out: it has credentials, or redaction would change it. */
function isSecretHeader(name: string, value: string, redact: Redact): boolean {
  if (CREDENTIAL_HEADERS.has(name) || isSecretName(name, redact)) return true
  return name !== IDEMPOTENCY_KEY_HEADER && redact({ [name]: value })[name] !== value
}

const isRequest = (input: FetchInput): input is Request => typeof input === 'object' && 'clone' in input

/** A base that makes a relative URL parseable. A relative URL is completed by the origin of a pool member. */
const RELATIVE_BASE = new URL('http://relative.invalid')

/** The URL without credentials, fragment and query parameters with secret names. @throws INVALID_OPTIONS */
function storedUrl(input: FetchInput, redact: Redact): string {
  const address = typeof input === 'string' ? input : isRequest(input) ? input.url : input.href
  if (!URL.canParse(address, RELATIVE_BASE))
    throw new HoldfastError(
      'INVALID_OPTIONS',
      'the URL of the request cannot be parsed: pass an absolute URL, or the path of one with a pool',
    )
  const url = new URL(address, RELATIVE_BASE)
  url.username = ''
  url.password = ''
  url.hash = ''
  for (const name of new Set(url.searchParams.keys()))
    if (isSecretName(name, redact)) url.searchParams.delete(name)
  return url.host === RELATIVE_BASE.host ? url.pathname + url.search : url.href
}

const isStream = (body: unknown): boolean =>
  typeof body === 'object' &&
  body !== null &&
  (typeof (body as ReadableStream).getReader === 'function' || Symbol.asyncIterator in body)

/** Reads a body without using it up. `contentType` is the type that fetch would send with it. */
async function readBody(
  input: FetchInput,
  given: FetchBody,
): Promise<{ bytes: Uint8Array; contentType: string | null } | undefined> {
  const body = typeof given === 'function' ? await given() : given
  if (isStream(body))
    throw new HoldfastError(
      'INVALID_OPTIONS',
      'the body of the request is a stream, which is read only once: pass bytes, a string or a function',
    )
  const isBodyOfRequest = body === undefined || body === null
  if (isBodyOfRequest && !(isRequest(input) && input.body !== null)) return undefined
  const source = isBodyOfRequest ? (input as Request).clone() : new Response(body)
  const contentType = source.headers.get('content-type') // first, because Bun has none when the body was read
  return { bytes: new Uint8Array(await source.arrayBuffer()), contentType }
}

/** Text where the bytes are valid UTF-8, else base64. */
function encodeBody(bytes: Uint8Array): Pick<StoredRequest, 'body' | 'body_encoding'> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { body: text, body_encoding: 'utf8' }
  } catch {
    return { body: Buffer.from(bytes).toString('base64'), body_encoding: 'base64' }
  }
}

/** The body of a stored request, in the form that fetch takes. */
export const decodeBody = ({
  body,
  body_encoding,
}: StoredRequest): string | Uint8Array<ArrayBuffer> | null =>
  body !== null && body_encoding === 'base64' ? Uint8Array.from(Buffer.from(body, 'base64')) : body

/** Creates the payload of a dead letter from a request. @throws INVALID_OPTIONS for a stream as body */
export async function createStoredRequest(
  { method, input, headers, body }: HostedRequest,
  redact: Redact,
): Promise<StoredRequest> {
  const read = await readBody(input, body)
  const stored = new Headers(headers)
  if (read?.contentType && !stored.has('content-type')) stored.set('content-type', read.contentType)
  return {
    method,
    url: storedUrl(input, redact),
    headers: Object.fromEntries([...stored].filter(([name, value]) => !isSecretHeader(name, value, redact))),
    ...(read === undefined ? { body: null, body_encoding: null } : encodeBody(read.bytes)),
  }
}
