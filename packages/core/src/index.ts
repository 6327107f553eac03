export type { Attempt, PooledAttempt } from './attempt/attempt.js'
export { type BreakerEvent, type BreakerState, CircuitBreaker, type TripOptions } from './breaker/breaker.js'
export type { BreakerKey, KeyedBreakerOptions } from './breaker/keyed.js'
export type { BreakerOptions, CircuitBreakerOptions, WindowType } from './breaker/options.js'
export type { Permit } from './breaker/permit.js'
export type { BreakerSnapshot } from './breaker/snapshot.js'
export type { BulkheadOptions } from './bulkhead/bulkhead.js'
export { type Category, type Classification, classify, type Kind, type Matcher } from './classify/index.js'
export type { Clock, Random } from './clock.js'
export type { Duration } from './duration.js'
export {
  HoldfastError,
  type HoldfastErrorCode,
  type HoldfastErrorOptions,
  isHoldfastError,
} from './errors.js'
export type { CallOptions, Executed } from './execution/call.js'
export type {
  AttemptFailedEvent,
  GaveUpEvent,
  RetryScheduledEvent,
  SucceededEvent,
} from './execution/events.js'
export type { FallbackInfo } from './fallback/fallback.js'
export type { BreakerChangedEvent, GuardEvent } from './guard/events.js'
export { type Guard, guard, type RunOptions } from './guard/guard.js'
export type { GuardOptions, TimeoutOptions } from './guard/options.js'
export type { HedgeOptions } from './hedge/hedge.js'
export type { MemberStatus } from './pool/availability.js'
export type {
  MemberBreakerEvent,
  MemberChangedEvent,
  NetworkChangedEvent,
  PoolEvent,
} from './pool/events.js'
export type { Member } from './pool/members/member.js'
export type { MemberStats } from './pool/members/member-counters.js'
export type { MemberOutcome, PoolOptions } from './pool/options.js'
export { Pool } from './pool/pool.js'
export type { Chooser } from './pool/strategies/function.js'
export type { StrategyName } from './pool/strategies/index.js'
export { RetryBudget, type RetryBudgetOptions } from './retry/budget.js'
export type { Backoff, FetchRetryOptions, Jitter, Outcome, RetryInfo, RetryOptions } from './retry/options.js'
export type { StopReason } from './retry/stop-reason.js'
export { stopRetrying } from './retry/stop-retrying.js'
export { type AttemptRecord, type Session, sessionOf } from './session/session.js'
