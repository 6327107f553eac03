import { toSeconds } from '../../codec/leaf.js'
import { snakeKey } from '../../codec/twin.js'
import { configInvalid, type Problem } from '../problem.js'
import { contradictions } from '../resolve.js'
import type { ResolvedConfig } from '../resolved.js'

/** Something in a policy, file and changes together, that cannot be. */
export interface Contradiction extends Problem {
  readonly policyId: string
}

/** What in the policies cannot be: fields that contradict each other, breakers that are not there. */
export function contradictionsOf({ policies, config }: ResolvedConfig): Contradiction[] {
  const found: Contradiction[] = []
  for (const [policyId, resolved] of policies) {
    const { policy } = resolved
    const at = (field: string) => `policies.${policyId}.${snakeKey(field)}`
    for (const { field, least } of contradictions(resolved))
      found.push({
        policyId,
        path: at(field),
        message: `${toSeconds(policy[field])} is less than ${snakeKey(least)}, which is ${toSeconds(policy[least])}`,
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
export function refuseContradictions(problems: readonly Contradiction[]): never {
  throw configInvalid('the configuration with the changes made through the API', problems)
}
