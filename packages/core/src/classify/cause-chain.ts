import { type HoldfastError, isHoldfastError } from '../errors.js'
import { type ErrorLike, isErrorLike } from './classification.js'
import { ownErrorOf } from './own-errors.js'

/** More than any real chain of causes has; ends a circular one. */
export const MAX_CHAIN_LENGTH = 100

/** An error with its causes, as matchers inspect it. */
export interface CauseChain {
  readonly error: unknown
  /** The error itself, then its causes and the members of an AggregateError, nearest first, each once. */
  readonly nodes: readonly ErrorLike[]
  /** The rejection among the nodes, where there is one; its causes are not listed. */
  readonly rejection: ErrorLike | undefined
}

/**
 * Whether a guard, breaker, pool, bulkhead or budget rejected the call. A retry at once cannot help, and the causes were
 * handled by the guard that rejected it, so they are not inspected.
 */
const isRejection = ({ code }: HoldfastError): boolean => ownErrorOf(code)?.[2] !== undefined

/** Reads an error and its causes, as far as they can be read. A rejection by Holdfast ends the chain. */
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
