export { currentAttempt } from '../attempt/active-attempt.js'
export { Bulkhead } from './bulkhead.js'
export { CircuitBreaker } from './circuit-breaker.js'
export {
  configureDecorators,
  type DecoratedMethod,
  type DecoratorOptions,
  type DecoratorRuntime,
} from './configure.js'
export type { AsyncMethod, AsyncMethodDecorator } from './decorate.js'
export { Fallback, type FallbackDecorator } from './fallback.js'
export type { Overrides } from './overrides.js'
export { Retry } from './retry.js'
export type { BulkheadSettings } from './settings/bulkhead.js'
export type { CircuitBreakerSettings } from './settings/circuit-breaker.js'
export type { FallbackCall, FallbackFunction, FallbackSettings } from './settings/fallback.js'
export type { RetrySettings } from './settings/retry.js'
export type { TimeoutSettings } from './settings/timeout.js'
export { Timeout } from './timeout.js'
