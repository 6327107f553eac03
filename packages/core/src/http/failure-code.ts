import type { AttemptContext } from '../attempt/attempt.js'
import type { Clock } from '../clock.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import { parseTruncatedObject } from './truncated-json.js'

/** The number of bytes of a body that are searched for an error code. */
export const MAX_PEEK_BYTES = 65_536

/** The time limit for reading the error code from a body, because the next attempt waits for it. */
export const PEEK_TIMEOUT_MS = 1000

/** The error code of a service, and as `name` its error type. */
interface FailureCode {
  readonly code?: string
  readonly name?: string
}

/** Whether a policy has matchers, so that an error code in the body can decide about a retry. */
export const hasErrorNames = ({ retryOn, abortOn }: CompiledRetryPolicy): boolean =>
  [retryOn, abortOn].some((list) => list !== undefined && list.length > 0)

/** The first value that looks like an error code and not like a SQLSTATE, because matchers also match those. */
const firstCode = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && /^[a-z_]\w{2,99}$/i.test(value))

/**
 * Parses the error code and type in the body of an error response: `{ error: { code, type } }` of OpenAI and Anthropic,
 * `{ code }` of Notion, `{ error: { status } }` of Google, `{ error }` of OAuth.
 */
function parseFailureCode(text: string): FailureCode | undefined {
  const { code, type } = parseErrorFields(text)
  if (code === undefined && type === undefined) return undefined
  return { ...(code && { code }), ...(type && { name: type }) }
}

function parseErrorFields(text: string): { code: string | undefined; type: string | undefined } {
  const body = Object(parseObject(text))
  const inner = Object(body.error)
  return {
    code: firstCode(inner.code, body.code, inner.status, body.error, inner.type, body.type),
    type: firstCode(inner.type, body.type),
  }
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return parseTruncatedObject(text)
  }
}

/**
 * Adds the error code in the body of a response as the cause of the response's error, because matchers inspect causes. `peek`
 * reads the body until its signal is aborted. If the deadline of the attempt passes first, the attempt ends with the error
 * without a code.
 */
export async function addFailureCode(
  error: Error,
  attempt: AttemptContext | undefined,
  peek: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<void> {
  const deadline = new AbortController()
  if (attempt !== undefined)
    attempt.onDeadline = () => {
      deadline.abort()
      return error
    }
  const text = await peek(deadline.signal)
  if (attempt !== undefined) attempt.onDeadline = undefined
  const cause = text === undefined || deadline.signal.aborted ? undefined : parseFailureCode(text)
  if (cause !== undefined)
    Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true })
}

/**
 * Reads the beginning of the body of a response if it can be JSON. It reads a clone, so that the response remains readable
 * from the start.
 */
export async function peekText(
  response: Response,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  let copy: ReadableStream<Uint8Array> | null | undefined
  try {
    copy = response.bodyUsed ? undefined : response.clone().body
  } catch {
    return undefined // The value is not a complete Response, or its body is locked.
  }
  if (typeof copy?.getReader !== 'function') return undefined
  const reader = copy.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel)
  const timer = clock.setTimer(cancel, PEEK_TIMEOUT_MS)
  const decoder = new TextDecoder()
  let text = ''
  let remainingBytes = MAX_PEEK_BYTES
  try {
    while (remainingBytes > 0 && canBeJson(text)) {
      const { done, value } = await reader.read()
      if (done) break
      text += decoder.decode(value.subarray(0, remainingBytes), { stream: true })
      remainingBytes -= value.byteLength
    }
  } catch {
    // The connection was lost. The text that arrived before is used.
  } finally {
    clock.clearTimer(timer)
    cancel()
  }
  return text
}

/** Whether a text is empty so far or begins like a JSON object; nothing else contains a code. */
export const canBeJson = (text: string): boolean => /^\s*({|$)/.test(text)
