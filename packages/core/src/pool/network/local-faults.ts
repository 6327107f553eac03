import { readCauseChain } from '../../classify/cause-chain.js'
import { byCode } from '../../classify/error-codes.js'
import type { SelectionOutcome } from '../members/member-pool.js'

/** Error codes that indicate a problem of the local network. */
const LOCAL_NETWORK_CODES = new Set<unknown>(['ENETDOWN', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND'])

/** Kinds of errors that can occur without any response. */
const NO_RESPONSE_KINDS = new Set(['timeout', 'network_error', 'cancelled', 'unknown'])

/**
 * Whether an attempt failed because of the local network: all network codes in the error and its causes are local ones. A
 * host name with several addresses fails with one code for each address.
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

/** Whether an outcome proves that the network works: a response of any kind, or a refused or reset connection. */
export function provesNetworkUp({ hasThrown, result, classification }: SelectionOutcome): boolean {
  if (!hasThrown) return true
  if (classification === undefined) return false
  return (
    classification.httpStatus !== undefined ||
    !NO_RESPONSE_KINDS.has(classification.kind) ||
    readCauseChain(result).nodes.some(({ code }) => code === 'ECONNREFUSED' || code === 'ECONNRESET')
  )
}
