import { readCauseChain } from '../../classify/cause-chain.js'
import { byCode } from '../../classify/error-codes.js'
import type { SelectionOutcome } from '../members/member-pool.js'

/** Codes that speak of the network at this end. */
const LOCAL_NETWORK_CODES = new Set<unknown>(['ENETDOWN', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND'])

/** Kinds of errors that may come without any answer. */
const NO_RESPONSE_KINDS = new Set(['timeout', 'network_error', 'cancelled', 'unknown'])

/**
 * Whether an attempt failed by the network at this end, as far as its error tells: of all the network's codes in it and
 * behind it only such are left. A name that is tried at several addresses fails with one code for each.
 */
export function isLocalFault({ hasThrown, result, classification }: SelectionOutcome): boolean {
  if (!hasThrown || classification?.kind !== 'network_error') return false
  let hasLocalCode = false
  for (const { code } of readCauseChain(result).nodes) {
    if (LOCAL_NETWORK_CODES.has(code)) hasLocalCode = true
    else if (typeof code === 'string' && /timeout|network_error/.test(byCode(code)?.kind ?? '')) return false
  }
  return hasLocalCode
}

/** Whether an outcome proves that the network works: an answer of any kind, a refusal or a reset. */
export function provesNetworkUp({ hasThrown, result, classification }: SelectionOutcome): boolean {
  if (!hasThrown) return true
  if (classification === undefined) return false
  return (
    classification.httpStatus !== undefined ||
    !NO_RESPONSE_KINDS.has(classification.kind) ||
    readCauseChain(result).nodes.some(({ code }) => code === 'ECONNREFUSED' || code === 'ECONNRESET')
  )
}
