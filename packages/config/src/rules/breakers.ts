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
    const poolPath = ['pools', id, 'circuit_breaker']
    checkBreaker(context, poolPath, pool.circuitBreaker, report)
    const inherited = pool.circuitBreaker && { path: poolPath, breaker: pool.circuitBreaker }
    for (const [i, member] of (pool.members ?? []).entries())
      checkBreaker(
        context,
        ['pools', id, 'members', `${i}`, 'circuit_breaker'],
        member?.circuitBreaker,
        report,
        inherited,
      )
  }
}

/** The breaker of a pool, whose settings apply to the members that do not have their own. */
interface Inherited {
  readonly path: readonly string[]
  readonly breaker: BreakerEntry
}

/** Checks a breaker with the settings that it inherits. Problems of these alone are not reported again. */
function checkBreaker(
  context: RuleContext,
  path: readonly string[],
  breaker: BreakerEntry | undefined,
  report: ReportProblem,
  inherited?: Inherited,
): void {
  if (breaker === undefined) return
  const { slowCallRate, slowCallDuration, maxTimeoutDuration, timeoutDuration } = {
    ...inherited?.breaker,
    ...breaker,
  }
  const isSlowCallSet = breaker.slowCallRate !== undefined || breaker.slowCallDuration !== undefined
  if (isSlowCallSet && (slowCallRate === undefined) !== (slowCallDuration === undefined)) {
    const [present, missing] =
      slowCallRate === undefined
        ? ['slow_call_duration', 'slow_call_rate']
        : ['slow_call_rate', 'slow_call_duration']
    report([...path, present], mismatch(`${formatKey(context, missing)} beside it`, 'nothing'))
  }
  if (
    maxTimeoutDuration !== undefined &&
    maxTimeoutDuration < (timeoutDuration ?? BREAKER_DEFAULTS.timeoutDuration)
  )
    reportMaximum(context, path, breaker, report, inherited)
  const isRateWindow = breaker.failureRate !== undefined || breaker.slowCallRate !== undefined
  if (isRateWindow && breaker.windowType !== undefined && breaker.windowType !== 'rate')
    report([...path, 'window_type'], {
      code: 'conflict',
      expected: 'rate, because a rate is set',
      got: JSON.stringify(breaker.windowType),
    })
}

/** Reports an open duration above its maximum, at the one of the two that the breaker sets itself. */
function reportMaximum(
  { formatLocation, formatValueAt }: RuleContext,
  path: readonly string[],
  breaker: BreakerEntry,
  report: ReportProblem,
  inherited: Inherited | undefined,
): void {
  const maximum = 'max_timeout_duration'
  const timeout = 'timeout_duration'
  if (breaker.maxTimeoutDuration !== undefined) {
    const isOfPool = breaker.timeoutDuration === undefined && inherited?.breaker.timeoutDuration !== undefined
    report([...path, maximum], {
      code: 'conflict',
      expected: isOfPool ? `at least ${formatLocation([...inherited.path, timeout])}` : { atLeast: timeout },
      got: formatValueAt([...path, maximum]),
    })
  } else if (inherited !== undefined && breaker.timeoutDuration !== undefined)
    report([...path, timeout], {
      code: 'conflict',
      expected: `at most ${formatLocation([...inherited.path, maximum])}`,
      got: formatValueAt([...path, timeout]),
    })
}
