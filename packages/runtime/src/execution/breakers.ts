import type { CallConfiguration } from '@holdfast/config'
import type { RetryPolicy } from '@holdfast/records'
import { type CircuitBreaker, HoldfastError } from 'holdfast'
import type { BreakerRegistry } from '../breakers/registry.js'

/** The breaker of a service that a call or a policy names. @throws INVALID_OPTIONS */
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
    `service: expected a name under circuit_breakers (${known}), got ${name}`,
  )
}

/**
 * The breaker of a policy: the one it names, else its own if it has one. A policy that is derived from another one,
 * `owner`, uses the breaker of `owner`.
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
