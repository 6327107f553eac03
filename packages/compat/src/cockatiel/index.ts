// The API of cockatiel 3.2.1.
export {
  ConstantBackoff,
  DelegateBackoff,
  type DelegateBackoffFn,
  ExponentialBackoff,
  type IBackoff,
  type IBackoffFactory,
  type IExponentialBackoffOptions,
  IterableBackoff,
} from './backoff.js'
export {
  ConsecutiveBreaker,
  CountBreaker,
  type IBreaker,
  type ICountBreakerOptions,
  type ISamplingBreakerOptions,
  SamplingBreaker,
} from './breakers.js'
export { BulkheadPolicy, bulkhead } from './bulkhead-policy.js'
export {
  CircuitBreakerPolicy,
  circuitBreaker,
  type ICircuitBreakerOptions,
  type IHalfOpenAfterBackoffContext,
} from './circuit-breaker-policy.js'
export { CircuitState } from './circuit-state.js'
export {
  BrokenCircuitError,
  BulkheadRejectedError,
  HydratingCircuitError,
  IsolatedCircuitError,
  isBrokenCircuitError,
  isBulkheadRejectedError,
  isHydratingCircuitError,
  isIsolatedCircuitError,
  isTaskCancelledError,
  TaskCancelledError,
} from './errors.js'
export { Event, EventEmitter, type IDisposable } from './event.js'
export { FallbackPolicy, fallback } from './fallback-policy.js'
export {
  decorrelatedJitterGenerator,
  fullJitterGenerator,
  type GeneratorFn,
  halfJitterGenerator,
  noJitterGenerator,
} from './jitter.js'
export { NoopPolicy, noop } from './noop-policy.js'
export {
  handleAll,
  handleResultType,
  handleType,
  handleWhen,
  handleWhenResult,
  Policy,
} from './policy.js'
export {
  type IRetryBackoffContext,
  type IRetryContext,
  type IRetryPolicyConfig,
  RetryPolicy,
  retry,
} from './retry-policy.js'
export {
  type ICancellationContext,
  type ITimeoutOptions,
  TimeoutPolicy,
  TimeoutStrategy,
  timeout,
} from './timeout-policy.js'
export type {
  FailureReason,
  IBasePolicyOptions,
  IDefaultPolicyContext,
  IFailureEvent,
  IMergedPolicy,
  IPolicy,
  ISuccessEvent,
} from './types.js'
export { usePolicy } from './use-policy.js'
export { wrap } from './wrap.js'
