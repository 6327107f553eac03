import { POLICY_FIELDS, type RetryPolicy } from '@holdfast/records'
import type { CircuitBreaker, GuardOptions } from 'holdfast'
import { GuardExecutor, parseGuardOptions } from 'holdfast/internal'
import type { CompiledOperation, CompiledPolicy } from './compiled-operation.js'
import type { CompilerParts } from './operation-compiler.js'

/** The options of a guard as a policy record whose id is `name`. */
function toPolicyRecord(name: string, settings: ReturnType<typeof parseGuardOptions>): RetryPolicy {
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
    circuitBreakerThreshold: POLICY_FIELDS.circuit_breaker_threshold.default,
    circuitBreakerTimeout: POLICY_FIELDS.circuit_breaker_timeout.default,
    deadLetter: false,
    shadow: false,
  }
  if (attemptTimeout < Infinity) record.attemptTimeout = attemptTimeout
  if (totalTimeout < Infinity) record.totalTimeout = totalTimeout
  return record
}

/** Compiles the options of a guard that has no policy in the file: the guard of a decorated method. */
export function compileGuardOptions(
  name: string,
  options: GuardOptions,
  parts: Pick<CompilerParts, 'clock' | 'random' | 'metricsFor'>,
): CompiledOperation & { readonly breaker: CircuitBreaker | undefined } {
  const { clock, random, metricsFor } = parts
  const settings = parseGuardOptions({ clock, random, ...options, name })
  const { breaker, retry, attemptTimeout, totalTimeout, enabled, fallback } = settings
  const executorOptions = { hasOtherBreakers: breaker !== undefined }
  const policy: CompiledPolicy = {
    policy: retry,
    attemptTimeout,
    totalTimeout,
    record: toPolicyRecord(name, settings),
    breaker,
  }
  return {
    name,
    subsystem: undefined,
    isEnabled: enabled,
    canSkipTracking: false,
    executorOptions,
    guard: new GuardExecutor(
      // The runtime runs the fallback itself, because its result is part of the records.
      { ...settings, breaker: undefined, fallback: undefined },
      executorOptions,
    ),
    policyByKind: new Map(),
    defaultPolicy: policy,
    initialPolicy: policy,
    breakers: breaker === undefined ? [] : [breaker],
    shadowPolicies: [],
    metrics: metricsFor({ operation: name, policyId: name }),
    fallback,
    breaker,
  }
}
