import { makeRedactor } from '../redact/redact.js'
import type { ErrorSummary } from './session.js'

/** The longest name, message and stack that are kept. */
const NAME = 200
const MESSAGE = 2000
const STACK = 8000

/** A stack is put together until it is this long: more than is looked at of any text. */
const ENOUGH = 16_384

/** Takes out what is secret. */
type Redact = <T>(value: T) => T

/** Without what is secret everywhere. */
const plain: Redact = makeRedactor()

/** A secret that is cut in two is not known for one any more, so a text is redacted first and cut afterwards. */
function said(text: string, redact: Redact, length: number): string {
  const result = redact(text)
  return result.length > length ? `${result.slice(0, length)}…` : result
}

/** An error's class as people call it. */
export function typeOf(error: unknown, redact: Redact = plain): string {
  try {
    const { name } = Object(error) as { name?: unknown }
    if (typeof name === 'string' && name !== '') return said(name, redact, NAME)
    if (error instanceof Error) return said(error.constructor.name || 'Error', redact, NAME)
    return error === null ? 'null' : typeof error
  } catch {
    return 'unreadable'
  }
}

/** Whether a value has no words of its own: as text it would be `[object Object]`. */
const isMute = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Array.isArray(value) || value.toString === undefined || value.toString === Object.prototype.toString)

/** What an error says, without secrets. What was thrown and is no error is said as JSON. */
export function messageOf(error: unknown, redact: Redact = plain): string {
  try {
    const { message } = Object(error) as { message?: unknown }
    const text =
      typeof message === 'string' ? message : isMute(error) ? JSON.stringify(redact(error)) : String(error)
    return said(text, redact, MESSAGE) || typeOf(error, redact)
  } catch {
    return 'an error that cannot be read'
  }
}

/** An error's stack with those of its causes, without secrets. */
export function stackOf(error: unknown, redact: Redact = plain): string | undefined {
  try {
    const stacks: string[] = []
    const seen = new Set<unknown>()
    let length = 0
    for (let at: unknown = error; at instanceof Error && !seen.has(at) && length < ENOUGH; at = at.cause) {
      seen.add(at)
      if (typeof at.stack !== 'string') continue
      stacks.push(at.stack)
      length += at.stack.length
    }
    return stacks.length > 0 ? said(stacks.join('\nCaused by: '), redact, STACK) : undefined
  } catch {
    return undefined
  }
}

/** What records keep of an error: never the error itself, and nothing secret in it. */
export function summarize(error: unknown, redact: Redact, debug: boolean): ErrorSummary {
  const summary: ErrorSummary = { type: typeOf(error, redact), message: messageOf(error, redact) }
  const stackTrace = debug ? stackOf(error, redact) : undefined
  if (stackTrace !== undefined) summary.stackTrace = stackTrace
  return Object.freeze(summary)
}
