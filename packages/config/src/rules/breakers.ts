import { BREAKER_DEFAULTS } from 'holdfast/internal'
import { mismatch } from '../problems/problem.js'
import type { BreakerEntry } from '../schema/schema.js'
import { formatKey, type ReportProblem, type RuleContext } from './rule-context.js'

/** Checks the combination of settings of each breaker. */
export function checkBreakers(context: RuleContext, report: ReportProblem): void {
  const { config } = context
  for (const [name, breaker] of Object.entries(config.circuitBreakers ?? {}))
    checkBreaker(context, ['circuit_breakers', name], breaker, report)
  for (const [id, pool] of Object.entries(config.pools ?? {})) {
    checkBreaker(context, ['pools', id, 'circuit_breaker'], pool.circuitBreaker, report)
    for (const [i, member] of (pool.members ?? []).entries())
      checkBreaker(
        context,
        ['pools', id, 'members', `${i}`, 'circuit_breaker'],
        member?.circuitBreaker,
        report,
      )
  }
}

function checkBreaker(
  context: RuleContext,
  path: readonly string[],
  breaker: BreakerEntry | undefined,
  report: ReportProblem,
): void {
  if (breaker === undefined) return
  const { slowCallRate, slowCallDuration, maxTimeoutDuration } = breaker
  const { timeoutDuration = BREAKER_DEFAULTS.timeoutDuration } = breaker
  if ((slowCallRate === undefined) !== (slowCallDuration === undefined)) {
    const [present, missing] =
      slowCallRate === undefined
        ? ['slow_call_duration', 'slow_call_rate']
        : ['slow_call_rate', 'slow_call_duration']
    report([...path, present], mismatch(`${formatKey(context, missing)} beside it`, 'nothing'))
  }
  if (maxTimeoutDuration !== undefined && maxTimeoutDuration < timeoutDuration)
    report([...path, 'max_timeout_duration'], {
      code: 'conflict',
      expected: { atLeast: 'timeout_duration' },
      got: context.formatValueAt([...path, 'max_timeout_duration']),
    })
  const isRateWindow = breaker.failureRate !== undefined || slowCallRate !== undefined
  if (isRateWindow && breaker.windowType !== undefined && breaker.windowType !== 'rate')
    report([...path, 'window_type'], {
      code: 'conflict',
      expected: 'rate, because a rate is set',
      got: JSON.stringify(breaker.windowType),
    })
}
