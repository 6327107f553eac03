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

/** What the name of an error, or else of its class, says; OpenAI's timeouts, for one, have nothing else. */
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
  /^(fetch failed|Failed to fetch|NetworkError|Load failed|[Nn]etwork (request|conn|error)|The (Internet|network) conn|error sending request|terminated|Connection terminated|timeout e|Query read timeout|Client (has encountered|was closed))/

/**
 * What the message says where nothing else does: a browser's `fetch` fails with a bare TypeError, and `pg` tells of a
 * lost connection or a timeout in words only.
 */
export const byMessage = (message: unknown): Classification | undefined =>
  typeof message === 'string' ? fromMessage(message) : undefined

const fromMessage = memoize((message: string) =>
  NETWORK_MESSAGE_PATTERN.test(message) ? (message.includes('timeout') ? TIMEOUT : NETWORK) : undefined,
)
