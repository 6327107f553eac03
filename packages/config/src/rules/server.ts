import { mismatch } from '../problems/problem.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks the files for HTTPS. The server needs both, and would otherwise notice only when it starts. */
export function checkServer({ config }: RuleContext, report: ReportProblem): void {
  const tls = config.server?.tls
  if (tls === undefined) return
  const missing = (['cert', 'key'] as const).filter((key) => tls[key] === undefined)
  if (missing.length > 0)
    report(['server', 'tls'], mismatch('the files cert and key', `no ${missing.join(' and no ')}`), 'key')
}
