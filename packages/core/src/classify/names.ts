import { type Bag, type Classification, MISTAKE, memo, NETWORK, TIMEOUT } from './verdict.js'
import { byWord } from './words.js'

const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError]

/** What the name of an error, or else of its class, says; OpenAI's timeouts, for one, have nothing else. */
export function byNames(error: Bag): Classification | undefined {
  const { name } = error
  const made: unknown = error.constructor
  if (made === Error && name === 'Error') return undefined
  const found = typeof name === 'string' ? byWord(name) : undefined
  if (found !== undefined || typeof made !== 'function') return found
  return byWord(made.name) ?? (MISTAKES.some((type) => error instanceof type) ? MISTAKE : undefined)
}

const LOST =
  /^(fetch failed|Failed to fetch|NetworkError|Load failed|[Nn]etwork (request|conn|error)|The (Internet|network) conn|error sending request|terminated|Connection terminated|timeout e|Query read timeout|Client (has encountered|was closed))/

/**
 * What the message says where nothing else does: a browser's `fetch` fails with a bare TypeError, and `pg` tells of a
 * lost connection or a timeout in words only.
 */
export const byMessage = (message: unknown): Classification | undefined =>
  typeof message === 'string' ? told(message) : undefined

const told = memo((message: string) =>
  LOST.test(message) ? (message.includes('timeout') ? TIMEOUT : NETWORK) : undefined,
)
