import { snakeKey } from '@holdfast/records'
import type { DecoratedMethod } from 'holdfast/decorators'
import { BREAKER_DEFAULTS, type OptionProblem, parseBreakerOptions } from 'holdfast/internal'
import { OverriddenPolicies } from '../resolve/overridden.js'
import { mappedOperations, policiesAt } from '../resolve/override-scopes.js'
import {
  environmentOverrides,
  type OverrideValue,
  overrideProblem,
  overridesFor,
  overrideVariables,
} from '../resolve/overrides.js'
import { type ResolvedConfig, resolveConfig } from '../resolve/resolve-config.js'
import { findFieldConflicts } from '../resolve/resolve-policy.js'
import type { ReportProblem, RuleContext } from './rule-context.js'

/** Checks the overrides of the file and of the environment. A problem of the latter has the variable as its path. */
export function checkOverrides(context: RuleContext, problem: ReportProblem): void {
  const { config, env, formatValueAt } = context
  const overrides = config.overrides ?? {}
  const variables = overrideVariables(env)
  if (Object.keys(overrides).length === 0 && Object.keys(variables).length === 0) return
  let isValid = true
  const report: ReportProblem = (...problems) => {
    isValid = false
    problem(...problems)
  }
  for (const [key, value] of Object.entries(overrides)) {
    const facts = overrideProblem(key, value, () => formatValueAt(['overrides', key]))
    if (facts !== undefined) report(['overrides', key], facts)
  }
  const resolved = resolveConfig({ config, overrideVariables: variables })
  const operations = operationsNamed(resolved, variables)
  const methods = operations.filter((operation) => operation !== '').map(toDecoratedMethod)
  const input = environmentOverrides(variables, Object.keys(overrides), methods)
  for (const [key, { variable, value }] of input) {
    const facts = overrideProblem(key, value, () => 'a value that is not shown')
    if (facts !== undefined) report([variable], facts)
  }
  if (isValid) checkTogether(resolved, operations, report)
}

const toDecoratedMethod = (operation: string): DecoratedMethod => {
  const [owner = '', method = ''] = operation.split('.')
  return { owner, method }
}

/** The operations that overrides can name, as far as the config knows them; the empty name is every operation. */
function operationsNamed({ config, policies }: ResolvedConfig, variables: object): string[] {
  const places = Object.keys(config.overrides ?? {}).map((key) => key.split('/').slice(0, -2).join('.'))
  // Operation names cannot be parsed from variable names, so all known names are tried.
  const isNamed = Object.keys(variables).some((name) => name.split('_').length > 2)
  const known = isNamed ? [...policies.keys(), ...mappedOperations(config)] : []
  return [...new Set(['', ...places, ...known])]
}

/** Checks the overrides together with the policies that they change. */
function checkTogether(resolved: ResolvedConfig, operations: readonly string[], report: ReportProblem): void {
  const overridden = new OverriddenPolicies(resolved)
  for (const operation of operations) {
    const overrides = overridesFor(resolved, operation)
    if (overrides.size === 0) continue
    const policyOf = overridden.forOperation(operation)
    const ids =
      operation === '' ? resolved.policies.keys() : policiesAt(resolved, operation.replace('.', '/'))
    for (const id of ids) {
      const [before, after] = [resolved.policies.get(id), policyOf(id)]
      if (before === undefined || after === undefined || findFieldConflicts(before).length > 0) continue
      for (const { field, minimumField } of findFieldConflicts(after)) {
        const from =
          overrides.get(`Retry/${SETTING_BY_FIELD[minimumField]}`) ??
          overrides.get(`Retry/${SETTING_BY_FIELD[field]}`)
        if (from !== undefined)
          report(pathOf(from), {
            code: 'conflict',
            expected: {
              atLeast: snakeKey(minimumField),
              value: { ms: after.policy[minimumField] },
              of: { key: snakeKey(field), policy: id },
            },
            got: { ms: after.policy[field] },
          })
      }
      checkBreaker(overridden, after.policy, report)
    }
  }
}

/** The setting of each field that may contradict another field. */
const SETTING_BY_FIELD = {
  maxDelay: 'maxDelay',
  baseDelay: 'delay',
  jitterMax: 'jitter',
  jitterMin: 'jitter',
} as const

const pathOf = ({ key, origin }: OverrideValue): string[] =>
  origin.origin === 'environment' && origin.where !== undefined ? [origin.where] : ['overrides', key]

function checkBreaker(
  overridden: OverriddenPolicies,
  policy: Parameters<OverriddenPolicies['ownBreaker']>[0],
  report: ReportProblem,
): void {
  if (!policy.enableCircuitBreaker || policy.circuitBreaker != null) return
  const { options, overrides } = overridden.ownBreaker(policy)
  const [from] = overrides.values()
  if (from === undefined) return
  const problems: OptionProblem[] = []
  parseBreakerOptions(`the breaker of the policy ${policy.id}`, options, BREAKER_DEFAULTS, problems)
  for (const { path, code, expected, got } of problems)
    report(pathOf(from), { code, expected: `${path}: ${expected}`, got })
}
