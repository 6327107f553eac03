import { snakeKey } from '@holdfast/records'
import { describeMismatch } from '../problem.js'
import { type FieldOrigin, findFieldConflicts, resolvePolicies } from '../resolve/resolve-policy.js'
import { formatKey, type ReportProblem, type RuleContext } from './rule-context.js'

/** Checks the combination of values of each resolved policy. */
export function checkPolicies(context: RuleContext, report: ReportProblem): void {
  for (const [id, resolved] of resolvePolicies(context))
    for (const { field, minimumField } of findFieldConflicts(resolved)) {
      const { [field]: high, [minimumField]: low } = resolved.origins
      const inSeconds = context.spelling === 'wire' ? 1000 : 1
      const unit = context.spelling === 'wire' ? ' s' : ' ms'
      const key = (name: string) => formatKey(context, snakeKey(name))
      report(
        conflictPath(id, field, high, low),
        describeMismatch(
          `at least ${key(minimumField)} (${resolved.policy[minimumField] / inSeconds}${unit}${formatOrigin(low)})`,
          `${resolved.policy[field] / inSeconds}${unit}${formatOrigin(high)}`,
        ),
      )
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

const formatOrigin = (origin: FieldOrigin | undefined): string =>
  origin?.origin === 'built-in'
    ? ' by default'
    : origin?.origin === 'global_defaults'
      ? ' by global_defaults'
      : ''
