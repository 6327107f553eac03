import type { CallConfiguration } from '@holdfast/config'
import type { RetryPolicy } from '@holdfast/records'
import { type CircuitBreaker, HoldfastError } from 'holdfast'
import type { BreakerRegistry } from '../breakers/registry.js'

/** The breaker of a service, by the name that a call or a policy gives. @throws INVALID_OPTIONS */
export function breakerForService(
  { breakers }: CallConfiguration,
  registry: BreakerRegistry,
  name: string,
): CircuitBreaker {
  const entry = breakers.get(name)
  if (entry !== undefined) return registry.getOrCreate({ serviceName: name }, entry.options, entry.persist)
  const known = [...breakers.keys()].join(', ') || 'none'
  throw new HoldfastError(
    'INVALID_OPTIONS',
    `service: there is no circuit breaker ${name} under circuit_breakers; there are: ${known}`,
  )
}

/**
 * The breaker of a policy: the one it names, else one of its own, where it has one. One that is made of another, `owner`, has
 * that one's breaker as it stands.
 */
export function breakerForPolicy(
  configuration: CallConfiguration,
  registry: BreakerRegistry,
  record: RetryPolicy,
  owner: RetryPolicy,
): CircuitBreaker | undefined {
  if (record.circuitBreaker) return breakerForService(configuration, registry, record.circuitBreaker)
  if (!record.enableCircuitBreaker) return undefined
  const policy = owner.enableCircuitBreaker ? owner : record
  return registry.getOrCreate({ policyId: policy.id }, configuration.ownBreaker(policy), false)
}
