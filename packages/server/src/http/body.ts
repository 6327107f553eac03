import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { ApiError } from './api-error.js'
import type { Env } from './env.js'
import { JSON_REQUIRED } from './error-handler.js'
import { decodeUtf8 } from './utf8.js'
import { fieldError } from './validation.js'

/** The maximum depth of arrays and objects in a JSON body. Code that walks a value recursively is safe at this depth. */
const MAX_JSON_DEPTH = 100

/** Whether an error of Node or of a web stream means that the client disconnected while its request was still arriving. */
const isDisconnect = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'AbortError' ||
    ['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ABORT_ERR'].includes(
      String((error as { code?: unknown }).code),
    ))

/** Reads a body. @throws BAD_REQUEST where the client disconnected before it sent the whole body, which is not a failure of the server */
async function whileConnected<T>(c: Context, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ApiError || (!isDisconnect(error) && !c.req.raw.signal.aborted)) throw error
    throw new ApiError('BAD_REQUEST', 'the client disconnected before the whole body arrived', {
      cause: error,
    })
  }
}

/** Rejects bodies above a size. A chunked body is read here, up to that size. */
export function limitBody(maxSize: number): MiddlewareHandler<Env> {
  const limit = bodyLimit({
    maxSize,
    onError: () => {
      throw new ApiError('PAYLOAD_TOO_LARGE', `expected a body of at most ${maxSize} bytes, got more`)
    },
  })
  // Errors of the following handlers do not arrive here: they are answered before.
  return (c, next) => whileConnected(c, () => limit(c, next))
}

/** The body of a request as text; undefined where its bytes are not valid UTF-8. */
export async function readText(c: Context): Promise<string | undefined> {
  return decodeUtf8(await whileConnected(c, () => c.req.arrayBuffer()))
}

/**
 * The value of a JSON body; undefined where the body is empty.
 *
 * @throws BAD_REQUEST where its content type is not JSON, or it is not UTF-8, not JSON, nested too deep, or has a number that is not finite
 */
export async function readJson(c: Context): Promise<unknown> {
  const text = await readText(c)
  if (text === '') return undefined
  const type = c.req.header('content-type')
  // A form of another site cannot send this content type without a preflight request.
  if (type !== undefined && !/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw fieldError('header', 'content-type', JSON_REQUIRED)
  if (text === undefined) throw fieldError('body', '', 'expected valid UTF-8, got bytes that are not')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw fieldError('body', '', 'not valid JSON')
  }
  assertPlain(value)
  return value
}

/** A value inside a body, with its path. */
interface JsonLocation {
  readonly value: unknown
  readonly parent?: JsonLocation
  readonly key?: string
  readonly depth: number
}

function formatLocation(location: JsonLocation): string {
  const keys: string[] = []
  for (let current: JsonLocation | undefined = location; current?.key !== undefined; current = current.parent)
    keys.push(current.key)
  return keys.toReversed().join('.')
}

/** Rejects numbers that JSON.parse turns into Infinity, such as `1e999`, because no store accepts them. It is not recursive, because the client decides about the depth. */
function assertPlain(root: unknown): void {
  const stack: JsonLocation[] = [{ value: root, depth: 0 }]
  for (let location = stack.pop(); location !== undefined; location = stack.pop()) {
    const { value, depth } = location
    if (typeof value === 'number' && !Number.isFinite(value))
      throw fieldError(
        'body',
        formatLocation(location),
        'expected a finite number, got one beyond the range of a 64-bit float',
      )
    if (typeof value !== 'object' || value === null) continue
    if (depth === MAX_JSON_DEPTH)
      throw fieldError('body', '', `expected at most ${MAX_JSON_DEPTH} nested arrays and objects, got more`)
    for (const key of Object.keys(value))
      stack.push({ value: (value as Record<string, unknown>)[key], parent: location, key, depth: depth + 1 })
  }
}
