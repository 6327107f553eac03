import type { CircuitBreaker, GuardOptions } from 'holdfast'
import { GuardExecutor, parseGuardOptions } from 'holdfast/internal'
import type { RetryPolicy } from '../records/policy.js'
import type { Line, LineRules } from './line.js'
import type { LineParts } from './lines.js'

/** A guard's own options as a policy of the records: `name` is its id. */
function recordOf(name: string, settings: ReturnType<typeof parseGuardOptions>): RetryPolicy {
  const { retry, attemptTimeout, totalTimeout } = settings
  const {
    backoffType,
    retryOn: _,
    abortOn: __,
    retryIf: ___,
    matchesRetryOn: ____,
    matchesAbortOn: _____,
    ...rest
  } = retry
  const record: RetryPolicy = {
    ...rest,
    id: name,
    name,
    enabled: settings.enabled,
    backoffType: typeof backoffType === 'string' ? backoffType : 'exponential',
    retryNonIdempotent: false,
    enableCircuitBreaker: false,
    circuitBreakerThreshold: 5,
    circuitBreakerTimeout: 60_000,
    deadLetter: false,
    shadow: false,
  }
  if (attemptTimeout < Infinity) record.attemptTimeout = attemptTimeout
  if (totalTimeout < Infinity) record.totalTimeout = totalTimeout
  return record
}

/** A line for calls whose rules stand in the code and not in the file: those of decorated methods. */
export function lineOf(
  name: string,
  options: GuardOptions,
  parts: Pick<LineParts, 'clock' | 'random' | 'tally'>,
): Line & { readonly breaker: CircuitBreaker | undefined } {
  const { clock, random, tally } = parts
  const settings = parseGuardOptions({ clock, random, ...options, name })
  const { breaker, retry, attemptTimeout, totalTimeout, enabled } = settings
  const rules: LineRules = {
    policy: retry,
    attemptTimeout,
    totalTimeout,
    record: recordOf(name, settings),
    gate: breaker,
  }
  return {
    operation: name,
    subsystem: undefined,
    enabled,
    plain: false,
    core: new GuardExecutor({ ...settings, breaker: undefined }, { hasOtherBreakers: breaker !== undefined }),
    rules: new Map(),
    rest: rules,
    base: rules,
    gates: breaker === undefined ? [] : [breaker],
    shadows: [],
    tally: tally(name, name, undefined),
    breaker,
  }
}
