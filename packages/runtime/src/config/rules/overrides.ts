import { BREAKER_DEFAULTS, parseBreakerOptions } from 'holdfast/internal'
import { snakeKey } from '../../codec/twin.js'
import { mappedOperations, OverriddenPolicies, policiesAt } from '../overridden.js'
import {
  type DecoratedMethod,
  environmentOverrides,
  type OverrideValue,
  overrideProblem,
  overridesFor,
  overrideVariables,
} from '../overrides.js'
import { contradictions } from '../resolve.js'
import { type ResolvedConfig, resolveConfig } from '../resolved.js'
import { type Facts, keyIn, type Tell } from './facts.js'

/** Checks the overrides, those that the environment gives included: a problem of these has the variable for its path. */
export function checkOverrides(facts: Facts, problem: Tell): void {
  const { config, env, shown } = facts
  const overrides = config.overrides ?? {}
  const variables = overrideVariables(env)
  if (Object.keys(overrides).length === 0 && Object.keys(variables).length === 0) return
  let isSound = true
  const report: Tell = (...problems) => {
    isSound = false
    problem(...problems)
  }
  for (const [key, value] of Object.entries(overrides)) {
    const message = overrideProblem(key, value, () => shown(['overrides', key]))
    if (message !== undefined) report(['overrides', key], message)
  }
  const resolved = resolveConfig({ config, overrideVariables: variables })
  const operations = operationsNamed(resolved, variables)
  const methods = operations.filter((operation) => operation !== '').map(methodOf)
  const given = environmentOverrides(variables, Object.keys(overrides), methods)
  for (const [key, { variable, value }] of given) {
    const message = overrideProblem(key, value, () => 'a value that it does not take')
    if (message !== undefined) report([variable], message)
  }
  if (isSound) checkTogether(facts, resolved, operations, report)
}

const methodOf = (operation: string): DecoratedMethod => {
  const [owner = '', method = ''] = operation.split('.')
  return { owner, method }
}

/** The operations that overrides can name, as far as the config knows them; the empty name is every operation. */
function operationsNamed({ config, policies }: ResolvedConfig, variables: object): string[] {
  const places = Object.keys(config.overrides ?? {}).map((key) => key.split('/').slice(0, -2).join('.'))
  // Names in variables cannot be read back, so all that are known are tried.
  const isNamed = Object.keys(variables).some((name) => name.split('_').length > 2)
  const known = isNamed ? [...policies.keys(), ...mappedOperations(config)] : []
  return [...new Set(['', ...places, ...known])]
}

/** Checks what overrides say together with the policies that they change. */
function checkTogether(
  facts: Facts,
  resolved: ResolvedConfig,
  operations: readonly string[],
  problem: Tell,
): void {
  const overridden = new OverriddenPolicies(resolved)
  for (const operation of operations) {
    const overrides = overridesFor(resolved, operation)
    if (overrides.size === 0) continue
    const policyOf = overridden.forOperation(operation)
    const ids =
      operation === '' ? resolved.policies.keys() : policiesAt(resolved, operation.replace('.', '/'))
    for (const id of ids) {
      const [before, after] = [resolved.policies.get(id), policyOf(id)]
      if (before === undefined || after === undefined || contradictions(before).length > 0) continue
      for (const { field, least } of contradictions(after)) {
        const from =
          overrides.get(`Retry/${SETTING_OF[least]}`) ?? overrides.get(`Retry/${SETTING_OF[field]}`)
        const name = (word: string) => keyIn(facts, snakeKey(word))
        if (from !== undefined)
          problem(
            pathOf(from),
            `makes ${name(field)} of the policy ${id} ${after.policy[field]} ms, which is less than ${name(least)}, ${after.policy[least]} ms`,
          )
      }
      checkBreaker(overridden, after.policy, problem)
    }
  }
}

/** The setting that decides over a field that may contradict another. */
const SETTING_OF = {
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
  problem: Tell,
): void {
  if (!policy.enableCircuitBreaker || policy.circuitBreaker != null) return
  const { options, overrides } = overridden.ownBreaker(policy)
  const [from] = overrides.values()
  if (from === undefined) return
  const problems: string[] = []
  parseBreakerOptions(`the breaker of the policy ${policy.id}`, options, BREAKER_DEFAULTS, problems)
  for (const message of problems) problem(pathOf(from), message)
}
