import { chainOf } from '../../classify/chain.js'
import { byWord } from '../../classify/words.js'
import type { PickOutcome } from '../protocol.js'

/** Codes that speak of the network at this end. */
const LOCAL = new Set<unknown>(['ENETDOWN', 'ENETUNREACH', 'EAI_AGAIN', 'ENOTFOUND'])

/** Kinds of errors that may come without any answer. */
const SILENT = new Set(['timeout', 'network_error', 'cancelled', 'unknown'])

/**
 * Whether an attempt failed by the network at this end, as far as its error tells: of all the network's codes in it and
 * behind it only such are left. A name that is tried at several addresses fails with one code for each.
 */
export function isLocalFault({ threw, result, known }: PickOutcome): boolean {
  if (!threw || known?.kind !== 'network_error') return false
  let found = false
  for (const { code } of chainOf(result).nodes) {
    if (LOCAL.has(code)) found = true
    else if (typeof code === 'string' && /timeout|network_error/.test(byWord(code)?.kind ?? '')) return false
  }
  return found
}

/** Whether an outcome proves that the network works: an answer of any kind, a refusal or a reset. */
export function provesNetwork({ threw, result, known }: PickOutcome): boolean {
  if (!threw) return true
  if (known === undefined) return false
  return (
    known.httpStatus !== undefined ||
    !SILENT.has(known.kind) ||
    chainOf(result).nodes.some(({ code }) => code === 'ECONNREFUSED' || code === 'ECONNRESET')
  )
}
