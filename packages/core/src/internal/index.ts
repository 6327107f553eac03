/**
 * Internal parts of the engine, for the other packages of the project. They can change with every release; applications
 * import from `holdfast`.
 *
 * @packageDocumentation
 */

export {
  type AsyncScope,
  backgroundClock,
  bindContext,
  captureContext,
  runInContext,
  runOutsideContext,
  setSharedTimer,
} from '../async-context.js'
export { callInAttempt } from '../attempt/active-attempt.js'
export { AttemptContext } from '../attempt/attempt.js'
export { isCountedFailure } from '../breaker/counted-failure.js'
export {
  BREAKER_DEFAULTS,
  type BreakerSettings,
  parseBreakerOptions,
  WINDOW_TYPES,
} from '../breaker/options.js'
export type { BreakerOutcome, PermitState } from '../breaker/permit.js'
export { BREAKER_STATES } from '../breaker/state.js'
export { Bulkhead } from '../bulkhead/bulkhead.js'
export { compileMatchers, KINDS, matcherProblems, OWN_ERRORS, ownErrorOf } from '../classify/index.js'
export {
  approximateStartTime,
  forEachInTurns,
  nextMacrotask,
  systemClock,
  systemRandom,
} from '../clock.js'
export { CredentialThrottle } from '../credential-throttle.js'
export { copyMetadata } from '../decorators/copy-metadata.js'
export { overridePlaces } from '../decorators/overrides.js'
export { toBreakerOptions } from '../decorators/settings/circuit-breaker.js'
export { overrideProblems, SETTING_NAMES } from '../decorators/settings/table.js'
export { createDeferred, type Deferred } from '../deferred.js'
export { DURATION_PATTERN, parseDuration } from '../duration.js'
export type { Admission } from '../execution/admission.js'
export { copyCallOptions, type GuardedFunction } from '../execution/call.js'
export { executeDirectly } from '../execution/direct-call.js'
export {
  createAttemptTimeoutError,
  createBulkheadFullError,
  createTotalTimeoutError,
} from '../execution/errors.js'
export { Execution } from '../execution/execution.js'
export { type FirstAttempt, type FirstAttemptTracker } from '../execution/first-attempt.js'
export type { EffectivePolicy, ExecutionHooks } from '../execution/hooks.js'
export { breakerOutcome } from '../execution/outcome.js'
export { type Fallback, type FallbackInfo, runFallback } from '../fallback/fallback.js'
export { type ExecutorOptions, GuardExecutor } from '../guard/guard-executor.js'
export {
  BULKHEAD_DEFAULTS,
  type GuardSettings,
  HEDGE_DEFAULTS,
  parseGuardOptions,
  parseTimeouts,
} from '../guard/options.js'
export { isOneShot } from '../http/body.js'
export { createFetchContext, REDACTED } from '../http/context.js'
export type { HostedCall, HostedOperation, HostedRequest, RequestHost } from '../http/hosted.js'
export {
  createIdempotencyKey,
  IDEMPOTENCY_KEY_HEADER,
  isIdempotentMethod,
  isSafeMethod,
  wasNotSent,
} from '../http/idempotency.js'
export type { HttpRetryRules } from '../http/options.js'
export {
  isRetryableStatus,
  RETRYABLE_CLIENT_STATUSES,
  RETRYABLE_STATUS,
  RETRYABLE_STATUS_ARRAY,
} from '../http/retryable-status.js'
export { formatInstance, INSPECT, type Inspect } from '../inspect.js'
export { Listeners } from '../listeners.js'
export { integerBetween, integerFrom, listenPort, nonEmptyString, timerDuration } from '../option-rules.js'
export {
  clockOption,
  countOrInfinity,
  createOptionsError,
  createProblem,
  defaultsOf,
  formatProblem,
  nonNegativeInteger,
  type OptionProblem,
  type OptionRule,
  type OptionSpecOf,
  ofType,
  optionProblem,
  parseOptions,
  positiveInteger,
  throwIfInvalid,
} from '../options.js'
export type { PoolCoordinator } from '../pool/coordinator.js'
export { type ParsedMember, parseMemberList } from '../pool/member-list.js'
export type { MemberPool, Selection, SelectionOutcome } from '../pool/members/member-pool.js'
export { STRATEGY_NAMES } from '../pool/strategies/index.js'
export { reportOnce } from '../report.js'
export { BUDGET_DEFAULTS, countCall, returnRetry, withdrawRetry } from '../retry/budget.js'
export { isRetryable, nextDelay } from '../retry/decide.js'
export { computeDelay } from '../retry/delay.js'
export { type DelayRange, delayRanges } from '../retry/delay-ranges.js'
export {
  BACKOFF_TYPES,
  type CompiledRetryPolicy,
  JITTER_TYPES,
  NESTED_RETRIES,
  parseRetryOptions,
  RETRY_DEFAULTS,
} from '../retry/options.js'
export { type RejectionReason, rejectionReason } from '../retry/stop-reason.js'
export { ATTEMPT_OUTCOMES, sessionSequence } from '../session/session.js'
export { isInstanceOfAnyCopy } from '../shared-registry.js'
export { editDistance, suggest } from '../suggest.js'
