import type { ErrorSummary } from '../session.js'
import { makeRedactor, type Redact } from './redact.js'

/** The longest name, message and stack in a record. */
const MAX_NAME_LENGTH = 200
const MAX_MESSAGE_LENGTH = 2000
const MAX_STACK_LENGTH = 8000

/** Stacks of causes are added up to this length, which is more than the redactor reads of a text. */
const MAX_RAW_STACK_LENGTH = 16_384

/** The redactor without own keys and patterns. */
const redactDefaults: Redact = makeRedactor()

/** Redacts before it truncates, because a truncated secret may not be recognized. */
function redactAndTruncate(text: string, redact: Redact, length: number): string {
  const result = redact(text)
  return result.length > length ? `${result.slice(0, length)}…` : result
}

/** The name of an error or of its class. */
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

/** Whether a value has no useful text: `String(value)` would be `[object Object]` or the elements of an array. */
const hasNoText = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Array.isArray(value) || value.toString === undefined || value.toString === Object.prototype.toString)

/** The message of an error without secrets. A thrown object that is not an error is returned as JSON. */
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

/** The stack of an error with those of its causes, without secrets. */
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

/** The summary of an error for records, without secrets. */
export function summarizeError(error: unknown, redact: Redact, debug: boolean): ErrorSummary {
  const summary: ErrorSummary = { type: errorTypeOf(error, redact), message: errorMessageOf(error, redact) }
  const stackTrace = debug ? errorStackOf(error, redact) : undefined
  if (stackTrace !== undefined) summary.stackTrace = stackTrace
  return Object.freeze(summary)
}
