import { KeyRing } from '@holdfast/store'
import { isHoldfastError } from 'holdfast'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks the keys of payloads: one that is none would be found out only when the first call has failed for good. */
export function checkDeadLetters({ config }: RuleContext, report: ReportProblem): void {
  const keys = config.deadLetters?.encryptionKey
  if (keys === undefined) return
  const path = ['dead_letters', 'encryption_key']
  try {
    // Payloads would be stored as they are, which is not what was asked for.
    if (new KeyRing(keys).newestId === undefined)
      report(path, 'there is no key in it, takes 32 bytes as base64 or hexadecimal digits')
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error
    for (const detail of error.details ?? []) report(path, String(detail))
  }
}
