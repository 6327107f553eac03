// Compiled with cockatiel and with ours: see tsconfig.json.
import {
  bulkhead,
  CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  DelegateBackoff,
  Event,
  EventEmitter,
  ExponentialBackoff,
  type FailureReason,
  fallback,
  fullJitterGenerator,
  type GeneratorFn,
  handleAll,
  handleResultType,
  handleType,
  type IBackoff,
  type IBackoffFactory,
  type IBreaker,
  type IDefaultPolicyContext,
  type IHalfOpenAfterBackoffContext,
  type IMergedPolicy,
  type IPolicy,
  type IRetryBackoffContext,
  type IRetryContext,
  isBrokenCircuitError,
  isTaskCancelledError,
  noop,
  type Policy,
  type RetryPolicy,
  retry,
  TimeoutStrategy,
  timeout,
  usePolicy,
  wrap,
} from 'cockatiel'
import { expectTypeOf } from 'vitest'

// The enums, as values, as types and by their names.
const names: Record<CircuitState, string> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'isolated',
}
function describe(state: CircuitState): string {
  switch (state) {
    case CircuitState.Closed:
    case CircuitState.Open:
    case CircuitState.HalfOpen:
    case CircuitState.Isolated:
      return CircuitState[state]
  }
}
const open: CircuitState.Open = CircuitState.Open
expectTypeOf<keyof typeof CircuitState>().toEqualTypeOf<'Closed' | 'Open' | 'HalfOpen' | 'Isolated'>()
const byName = (name: keyof typeof CircuitState): CircuitState => CircuitState[name]
const numberOf = (state: CircuitState): number => state
const limits: Record<TimeoutStrategy, number> = {
  [TimeoutStrategy.Aggressive]: 1,
  [TimeoutStrategy.Cooperative]: 2,
}

// What counts as a failure.
class StatusError extends Error {
  status = 500
}
const filtered: Policy = handleType(StatusError, ({ status }) => status > 500)
  .orType(TypeError)
  .orWhen(({ message }) => message === 'busy')
  .orResultType(Date, (date) => date.getTime() > 0)
  .orWhenResult((value) => value === undefined)
handleResultType(Response, ({ status }) => status === 503)

// Extensions.
class NeverOpens implements IBreaker {
  state: unknown
  success(_state: CircuitState): void {}
  failure(state: CircuitState): boolean {
    return state !== CircuitState.Closed
  }
}
class Linear implements IBackoffFactory<IRetryBackoffContext<unknown>> {
  next({ attempt }: IRetryBackoffContext<unknown>): IBackoff<IRetryBackoffContext<unknown>> {
    return { duration: attempt * 100, next: (context) => this.next(context) }
  }
}
const counted = new DelegateBackoff<IRetryBackoffContext<unknown>, number>((_, count = 0) => ({
  delay: count,
  state: count + 1,
}))
const generator: GeneratorFn<number> = (state, { maxDelay }) => [Math.min(maxDelay, state ?? 0), 1]

// Policies, alone and combined.
const retried: RetryPolicy = retry(filtered, { maxAttempts: 3, backoff: new Linear() })
const breaker: CircuitBreakerPolicy = circuitBreaker(handleAll, {
  halfOpenAfter: new DelegateBackoff(({ attempt }: IHalfOpenAfterBackoffContext) => attempt * 100),
  breaker: new NeverOpens(),
  initialState: {},
})
const limited = bulkhead(1, 2)
const timed = timeout(100, { strategy: TimeoutStrategy.Aggressive, abortOnReturn: false })
const merged: IMergedPolicy<
  IRetryContext & IDefaultPolicyContext,
  never,
  [RetryPolicy, CircuitBreakerPolicy]
> = wrap(retried, breaker)
const five = wrap(retried, fallback(handleAll, 'none'), timed, limited, breaker)
expectTypeOf(five.execute(({ attempt, signal }) => (signal.aborted ? attempt : 0))).toEqualTypeOf<
  Promise<number | string>
>()
expectTypeOf(timed.execute(({ signal }, same) => signal === same)).toEqualTypeOf<Promise<boolean>>()
const policies: IPolicy[] = [noop, retried, breaker, limited, timed, merged, retried.dangerouslyUnref()]
const run = <T>(policy: IPolicy<IDefaultPolicyContext, never>, fn: () => Promise<T>): Promise<T> =>
  wrap(policy, policy).execute(fn, new AbortController().signal)
retry(handleAll, { backoff: counted })
retry(handleAll, { backoff: new ExponentialBackoff({ generator, initialDelay: 1 }) })
retry(handleAll, { backoff: new ExponentialBackoff({ generator: fullJitterGenerator }) })
circuitBreaker(handleAll, { halfOpenAfter: 10, breaker: new ConsecutiveBreaker(5) })
usePolicy(retried)
usePolicy(merged)

// Events and errors.
const reasonOf = (reason: FailureReason<unknown>) => ('error' in reason ? reason.error.message : reason.value)
retried.onRetry(({ delay, attempt, ...reason }) => [delay.toFixed(), attempt.toFixed(), reasonOf(reason)])
retried.onFailure(({ duration, handled, reason }) => [duration.toFixed(), !handled, reasonOf(reason)])
breaker.onBreak((reason) => ('isolated' in reason ? reason.isolated : reasonOf(reason)))
breaker.onStateChange((state) => names[state])
breaker.isolate().dispose()
const emitter = new EventEmitter<number>()
expectTypeOf(Event.toPromise(emitter.addListener)).toEqualTypeOf<Promise<number>>()
const [first] = merged.wrapped
expectTypeOf(first).toEqualTypeOf<RetryPolicy>()
const codeOf = (error: unknown) => isBrokenCircuitError(error) || isTaskCancelledError(error)

export { byName, codeOf, describe, limits, numberOf, open, policies, run }
