import type { ErrorSummary } from '../session.js'
import { makeRedactor } from './redact.js'

/** The longest name, message and stack that are kept. */
const MAX_NAME_LENGTH = 200
const MAX_MESSAGE_LENGTH = 2000
const MAX_STACK_LENGTH = 8000

/** A stack is put together until it is this long: more than is looked at of any text. */
const MAX_RAW_STACK_LENGTH = 16_384

/** Takes out what is secret. */
type Redact = <T>(value: T) => T

/** Without what is secret everywhere. */
const redactDefaults: Redact = makeRedactor()

/** A secret that is cut in two is not known for one any more, so a text is redacted first and cut afterwards. */
function redactAndTruncate(text: string, redact: Redact, length: number): string {
  const result = redact(text)
  return result.length > length ? `${result.slice(0, length)}…` : result
}

/** An error's class as people call it. */
export function errorTypeOf(error: unknown, redact: Redact = redactDefaults): string {
  try {
    const { name } = Object(error) as { name?: unknown }
    if (typeof name === 'string' && name !== '') return redactAndTruncate(name, redact, MAX_NAME_LENGTH)
    if (error instanceof Error)
      return redactAndTruncate(error.constructor.name || 'Error', redact, MAX_NAME_LENGTH)
    return error === null ? 'null' : typeof error
  } catch {
    return 'unreadable'
  }
}

/** Whether a value has no words of its own: as text it would be `[object Object]`. */
const hasNoText = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Array.isArray(value) || value.toString === undefined || value.toString === Object.prototype.toString)

/** What an error says, without secrets. What was thrown and is no error is said as JSON. */
export function errorMessageOf(error: unknown, redact: Redact = redactDefaults): string {
  try {
    const { message } = Object(error) as { message?: unknown }
    const text =
      typeof message === 'string' ? message : hasNoText(error) ? JSON.stringify(redact(error)) : String(error)
    return redactAndTruncate(text, redact, MAX_MESSAGE_LENGTH) || errorTypeOf(error, redact)
  } catch {
    return 'an error that cannot be read'
  }
}

/** An error's stack with those of its causes, without secrets. */
export function errorStackOf(error: unknown, redact: Redact = redactDefaults): string | undefined {
  try {
    const stacks: string[] = []
    const seen = new Set<unknown>()
    let length = 0
    for (
      let current: unknown = error;
      current instanceof Error && !seen.has(current) && length < MAX_RAW_STACK_LENGTH;
      current = current.cause
    ) {
      seen.add(current)
      if (typeof current.stack !== 'string') continue
      stacks.push(current.stack)
      length += current.stack.length
    }
    return stacks.length > 0
      ? redactAndTruncate(stacks.join('\nCaused by: '), redact, MAX_STACK_LENGTH)
      : undefined
  } catch {
    return undefined
  }
}

/** What records keep of an error: never the error itself, and nothing secret in it. */
export function summarizeError(error: unknown, redact: Redact, debug: boolean): ErrorSummary {
  const summary: ErrorSummary = { type: errorTypeOf(error, redact), message: errorMessageOf(error, redact) }
  const stackTrace = debug ? errorStackOf(error, redact) : undefined
  if (stackTrace !== undefined) summary.stackTrace = stackTrace
  return Object.freeze(summary)
}
