import { snakeKey } from '../../codec/twin.js'
import { configInvalid, type Problem } from '../problem.js'
import { contradictions } from '../resolve.js'
import type { ResolvedConfig } from '../resolved.js'

/** What in the policies, file and changes together, cannot be: fields that contradict each other, breakers that are not there. */
export function contradictionsOf({ policies, config }: ResolvedConfig): (Problem & { policyId: string })[] {
  const found: (Problem & { policyId: string })[] = []
  for (const [policyId, resolved] of policies) {
    const { policy } = resolved
    const at = (field: string) => `policies.${policyId}.${snakeKey(field)}`
    for (const { field, least } of contradictions(resolved))
      found.push({
        policyId,
        path: at(field),
        message: `${policy[field] / 1000} is less than ${snakeKey(least)}, which is ${policy[least] / 1000}`,
      })
    if (policy.circuitBreaker && !Object.hasOwn(config.circuitBreakers ?? {}, policy.circuitBreaker))
      found.push({
        policyId,
        path: at('circuitBreaker'),
        message: `there is no breaker ${JSON.stringify(policy.circuitBreaker)}`,
      })
  }
  return found
}

/** @throws CONFIG_INVALID that lists them */
export function refuseContradictions(resolved: ResolvedConfig): void {
  const problems = contradictionsOf(resolved)
  if (problems.length > 0)
    throw configInvalid('the configuration with the changes made through the API', problems)
}
