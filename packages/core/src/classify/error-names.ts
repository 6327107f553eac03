import {
  type Classification,
  type ErrorLike,
  memoize,
  NETWORK,
  PROGRAMMING_ERROR,
  TIMEOUT,
} from './classification.js'
import { byCode } from './error-codes.js'

const PROGRAMMING_ERROR_CLASSES = [TypeError, RangeError, ReferenceError, SyntaxError]

/** Classifies an error by its name, or else by the name of its class. Some errors, such as OpenAI's timeouts, have nothing else. */
export function byName(error: ErrorLike): Classification | undefined {
  const { name } = error
  const errorClass: unknown = error.constructor
  if (errorClass === Error && name === 'Error') return undefined
  const classification = typeof name === 'string' ? byCode(name) : undefined
  if (classification !== undefined || typeof errorClass !== 'function') return classification
  return (
    byCode(errorClass.name) ??
    (PROGRAMMING_ERROR_CLASSES.some((type) => error instanceof type) ? PROGRAMMING_ERROR : undefined)
  )
}

const NETWORK_MESSAGE_PATTERN =
  /^(fetch failed|Failed to fetch|NetworkError|Load failed|[Nn]etwork (request|conn|error)|The (Internet|network) conn|error (sending request|reading a body)|terminated|Connection (terminated|reset|refused|aborted)|Broken pipe|An existing conn|timeout e|Query read timeout|Client (has encountered|was closed))/

/**
 * Classifies an error by its message, where no other property does: the `fetch` of browsers and of Deno reports lost connections in
 * the message only, and so does `pg`, with timeouts too.
 */
export const byMessage = (message: unknown): Classification | undefined =>
  typeof message === 'string' ? fromMessage(message) : undefined

const fromMessage = memoize((message: string) =>
  NETWORK_MESSAGE_PATTERN.test(message) ? (message.includes('timeout') ? TIMEOUT : NETWORK) : undefined,
)
