import type { BreakerEntry } from '../schema/schema.js'
import { type Facts, keyIn, type Tell } from './facts.js'

/** Checks what the settings of each breaker say together. */
export function checkBreakers(facts: Facts, problem: Tell): void {
  const { config } = facts
  for (const [name, breaker] of Object.entries(config.circuitBreakers ?? {}))
    checkBreaker(facts, ['circuit_breakers', name], breaker, problem)
  for (const [id, pool] of Object.entries(config.pools ?? {})) {
    checkBreaker(facts, ['pools', id, 'circuit_breaker'], pool.circuitBreaker, problem)
    for (const [i, member] of (pool.members ?? []).entries())
      checkBreaker(
        facts,
        ['pools', id, 'members', `${i}`, 'circuit_breaker'],
        member?.circuitBreaker,
        problem,
      )
  }
}

function checkBreaker(
  facts: Facts,
  path: readonly string[],
  breaker: BreakerEntry | undefined,
  problem: Tell,
): void {
  if (breaker === undefined) return
  const { slowCallRate, slowCallDuration, maxTimeoutDuration, timeoutDuration = 30_000 } = breaker
  if ((slowCallRate === undefined) !== (slowCallDuration === undefined)) {
    const [there, missing] =
      slowCallRate === undefined
        ? ['slow_call_duration', 'slow_call_rate']
        : ['slow_call_rate', 'slow_call_duration']
    problem([...path, there], `goes together with ${keyIn(facts, missing)}, which is not there`)
  }
  if (maxTimeoutDuration !== undefined && maxTimeoutDuration < timeoutDuration)
    problem(
      [...path, 'max_timeout_duration'],
      `got ${facts.shown([...path, 'max_timeout_duration'])}, takes at least ${keyIn(facts, 'timeout_duration')}`,
    )
  const rated = breaker.failureRate !== undefined || slowCallRate !== undefined
  if (rated && breaker.windowType !== undefined && breaker.windowType !== 'rate')
    problem(
      [...path, 'window_type'],
      `got "${breaker.windowType}", but a rate was given too, which means window_type rate`.replace(
        'window_type',
        keyIn(facts, 'window_type'),
      ),
    )
}
