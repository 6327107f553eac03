import type { ErrorSummary } from './session.js'

/** The longest message and stack that are kept. */
const MESSAGE = 2000
const STACK = 8000

const clip = (text: string, length: number) => (text.length > length ? `${text.slice(0, length)}…` : text)

/** An error's class as people call it. */
export function typeOf(error: unknown): string {
  try {
    if (error instanceof Error) return error.name || error.constructor.name || 'Error'
    const named = (error as { name?: unknown } | null | undefined)?.name
    if (typeof named === 'string' && named !== '') return named
    return error === null ? 'null' : typeof error
  } catch {
    return 'unreadable'
  }
}

/** What an error says. */
export function messageOf(error: unknown): string {
  try {
    const said = (error as { message?: unknown } | null | undefined)?.message
    const text = typeof said === 'string' ? said : String(error)
    return clip(text, MESSAGE) || typeOf(error)
  } catch {
    return 'an error that cannot be read'
  }
}

/** An error's stack with those of its causes. */
export function stackOf(error: unknown): string | undefined {
  try {
    const stacks: string[] = []
    const seen = new Set<unknown>()
    for (let at: unknown = error; at instanceof Error && !seen.has(at); at = at.cause) {
      seen.add(at)
      if (typeof at.stack === 'string') stacks.push(at.stack)
    }
    return stacks.length > 0 ? clip(stacks.join('\nCaused by: '), STACK) : undefined
  } catch {
    return undefined
  }
}

/** What records keep of an error: never the error itself, and nothing secret in it. */
export function summarize(error: unknown, redact: (text: string) => string, debug: boolean): ErrorSummary {
  const summary: ErrorSummary = { type: typeOf(error), message: redact(messageOf(error)) }
  const stack = debug ? stackOf(error) : undefined
  if (stack !== undefined) summary.stackTrace = redact(stack)
  return summary
}
