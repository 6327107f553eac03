import { findKeyProblems, KEY_FORMAT, KeyRing } from '@holdfast/store'
import { mismatch } from '../problems/problem.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks the encryption keys. A wrong key would otherwise be noticed only when the first call has failed. */
export function checkDeadLetters({ config }: RuleContext, report: ReportProblem): void {
  const keys = config.deadLetters?.encryptionKey
  if (keys === undefined) return
  const path = ['dead_letters', 'encryption_key']
  const problems = findKeyProblems(keys)
  for (const { path: key, code, expected, got } of problems)
    report(path, { code, expected, got: `${got} (${key})` })
  // Without a key the payloads would not be encrypted.
  if (problems.length === 0 && new KeyRing(keys).newestId === undefined)
    report(path, mismatch(KEY_FORMAT, 'no key'))
}
