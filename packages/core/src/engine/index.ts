/**
 * The engine's own parts, for the packages that are built on it. They may change with every release; applications use
 * `holdfast` itself.
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
export { counts } from '../breaker/counts.js'
export { BREAKER_DEFAULTS, type BreakerSettings, readBreaker } from '../breaker/options.js'
export type { Pass, Verdict } from '../breaker/permit.js'
export { Bulkhead } from '../bulkhead/bulkhead.js'
export { compileMatchers, matcherProblems } from '../classify/index.js'
export { startStamp, systemClock, systemRandom } from '../clock.js'
export { CredentialThrottle } from '../credential-throttle.js'
export { overridePlaces } from '../decorators/overrides.js'
export { toBreaker } from '../decorators/settings/circuit-breaker.js'
export { milliseconds } from '../duration.js'
export { refusal } from '../errors.js'
export type { Admission } from '../execution/admission.js'
export { AttemptContext } from '../execution/attempt.js'
export { Execution, type GuardedFunction } from '../execution/execution.js'
export { type FirstAttempt, type FirstAttemptTracker } from '../execution/first-attempt.js'
export type { EffectivePolicy, ExecutionHooks } from '../execution/hooks.js'
export { breakerOutcome } from '../execution/outcome.js'
export { type ExecutorOptions, GuardExecutor } from '../guard/guard-executor.js'
export { type GuardSettings, readGuard } from '../guard/options.js'
export { INSPECT, type Inspect, showAs } from '../inspect.js'
export { Listeners } from '../listeners.js'
export { distance, nearest } from '../nearest.js'
export type { PoolLink } from '../pool/link.js'
export { type ListedMember, parseMemberList } from '../pool/list.js'
export type { Pick, PickOutcome, PoolProtocol } from '../pool/protocol.js'
export { report } from '../report.js'
export { isRetryable, nextDelay } from '../retry/decide.js'
export { delayBefore } from '../retry/delay.js'
export { RETRY_DEFAULTS, type RetryPolicy, readRetry } from '../retry/options.js'
export { sessionSequence } from '../session/session.js'
