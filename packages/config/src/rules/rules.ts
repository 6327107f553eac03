import { checkBreakers } from './breakers.js'
import { checkDeadLetters } from './dead-letters.js'
import { checkMembers } from './members.js'
import { checkOverrides } from './overrides.js'
import { checkPolicies } from './policies.js'
import { checkReferences } from './references.js'
import type { ReportProblem, RuleContext } from './rule-context.js'
import { checkServer } from './server.js'
import { checkVersion, isV1 } from './version.js'

/** Checks the rules between values. */
export function checkRules(context: RuleContext, report: ReportProblem, reportWarning: ReportProblem): void {
  checkVersion(context, report, reportWarning)
  checkPolicies(context, report)
  checkBreakers(context, report)
  checkReferences(context, report, isV1(context.config.version) ? reportWarning : report)
  checkMembers(context, report)
  checkDeadLetters(context, report)
  checkOverrides(context, report)
  checkServer(context, report)
}
