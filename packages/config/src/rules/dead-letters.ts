import { KeyRing } from '@holdfast/store'
import { isHoldfastError } from 'holdfast'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks the encryption keys. A wrong key would otherwise be noticed only when the first call has failed. */
export function checkDeadLetters({ config }: RuleContext, report: ReportProblem): void {
  const keys = config.deadLetters?.encryptionKey
  if (keys === undefined) return
  const path = ['dead_letters', 'encryption_key']
  try {
    // Without a key the payloads would not be encrypted.
    if (new KeyRing(keys).newestId === undefined)
      report(path, 'expected 32 bytes as base64 or hexadecimal digits, got no key')
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error
    for (const detail of error.details ?? []) report(path, String(detail))
  }
}
