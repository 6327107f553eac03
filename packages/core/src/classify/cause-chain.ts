import { type HoldfastError, isHoldfastError } from '../errors.js'
import { type ErrorLike, isErrorLike } from './classification.js'

/** Enough for any honest chain, and the end of one that goes round in circles. */
export const MAX_CHAIN_LENGTH = 100

/** Everything a matcher looks at. */
export interface CauseChain {
  readonly error: unknown
  /** The error itself, then its causes and the members of an AggregateError, nearest first, each once. */
  readonly nodes: readonly ErrorLike[]
  /** The refusal among them, where there is one; nothing behind it is listed. */
  readonly rejection: ErrorLike | undefined
}

/**
 * Whether a guard, breaker, pool, bulkhead or budget did not make the call. Asking again at once cannot help, and what
 * lies behind has been dealt with: nothing looks through a refusal.
 */
const isRejection = ({ code }: HoldfastError): boolean => /^(CIRC|POOL|BULK|NETW|RETRY|CANC)/.test(code)

/** An error with what lies behind it, as far as that can be read. A refusal of Holdfast's own ends the search. */
export function readCauseChain(error: unknown): CauseChain {
  const nodes: ErrorLike[] = []
  let rejection: ErrorLike | undefined
  const add = (value: unknown): void => {
    if (isErrorLike(value) && nodes.length < MAX_CHAIN_LENGTH && !nodes.includes(value)) nodes.push(value)
  }
  add(error)
  for (const node of nodes) {
    try {
      if (isHoldfastError(node) && isRejection(node)) rejection = node
      else {
        add(node.cause)
        if (Array.isArray(node.errors)) node.errors.forEach(add)
      }
    } catch {
      // A getter or a Proxy threw: the chain ends here.
    }
  }
  return { error, nodes, rejection }
}
