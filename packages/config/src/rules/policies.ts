import { snakeKey } from '@holdfast/records'
import {
  conflictFacts,
  type FieldOrigin,
  findFieldConflicts,
  resolvePolicies,
} from '../resolve/resolve-policy.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks the combination of values of each resolved policy. */
export function checkPolicies(context: RuleContext, report: ReportProblem): void {
  for (const [id, resolved] of resolvePolicies(context))
    for (const conflict of findFieldConflicts(resolved)) {
      const { field, minimumField } = conflict
      const { [field]: high, [minimumField]: low } = resolved.origins
      report(conflictPath(id, field, high, low), conflictFacts(resolved, conflict))
    }
}

/** The path of a conflict: the policy, unless both values come from other layers. */
function conflictPath(
  id: string,
  field: string,
  high: FieldOrigin | undefined,
  low: FieldOrigin | undefined,
): string[] {
  const isOwn = [high, low].some((origin) => origin?.origin === 'policy' || origin?.origin === 'environment')
  return isOwn ? ['policies', id, snakeKey(field)] : ['global_defaults', snakeKey(field)]
}
