import type { Clock } from '../clock.js'
import type { AttemptContext } from '../execution/attempt.js'
import type { CompiledRetryPolicy } from '../retry/options.js'

/** How much of a body is read for the code in it. */
export const MAX_PEEK_BYTES = 65_536

/** How long the body may take to arrive before it is left unread: the next attempt waits for it. */
export const PEEK_TIMEOUT_MS = 1000

/** What services name their failures by in JSON: the code, and under `name` the type. */
interface FailureCode {
  readonly code?: string
  readonly name?: string
}

/** Whether a policy names errors, so that a code in the body of a failure may decide whether it is retried. */
export const hasErrorNames = ({ retryOn, abortOn }: CompiledRetryPolicy): boolean =>
  [retryOn, abortOn].some((list) => list !== undefined && list.length > 0)

/** A code must look like one, and not like a SQLSTATE: matchers look at it. */
const firstCode = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === 'string' && /^[a-z_]\w{2,99}$/i.test(value))

/**
 * The code and type that a service gives in the body of a failure: `{ error: { code, type } }` of OpenAI and Anthropic,
 * `{ code }` of Notion, `{ error: { status } }` of Google, `{ error }` of OAuth.
 */
function parseFailureCode(text: string): FailureCode | undefined {
  const { code, type } = parseErrorFields(text)
  if (code === undefined && type === undefined) return undefined
  return { ...(code && { code }), ...(type && { name: type }) }
}

function parseErrorFields(text: string): { code: string | undefined; type: string | undefined } {
  try {
    const body = Object(JSON.parse(text))
    const inner = Object(body.error)
    return {
      code: firstCode(inner.code, body.code, inner.status, body.error, inner.type, body.type),
      type: firstCode(inner.type, body.type),
    }
  } catch {
    // It was cut off, or is something else than JSON. Quotes in a text are escaped, so a field is not found in one.
    const find = (field: string) => firstCode(new RegExp(`"${field}"\\s*:\\s*"(\\w+)"`).exec(text)?.[1])
    return { code: find('code') ?? find('type'), type: find('type') }
  }
}

/**
 * Adds the code in a response's body to the error that stands for the response: matchers look at the cause of an error.
 * `peek` reads the body until its signal is aborted: where a deadline passes first, the attempt ends with the error as it is.
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
 * Reads the beginning of a response's body where it may be JSON. The response itself stays unread: the text comes from a
 * copy, and what was read of that is kept for the response's reader.
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
    return undefined // something less than a Response, or one whose body is in use
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
    // The connection was lost: what arrived before is all there is.
  } finally {
    clock.clearTimer(timer)
    cancel()
  }
  return text
}

/** Whether a text is empty so far or begins as an object does: nothing else holds a code. */
export const canBeJson = (text: string): boolean => /^\s*({|$)/.test(text)
