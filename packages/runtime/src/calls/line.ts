import type { CircuitBreaker, RetryBudget } from 'holdfast'
import type { Bulkhead, EffectivePolicy, GuardExecutor } from 'holdfast/internal'
import type { RetryPolicy } from '../records/policy.js'

/** What a policy would go by that only looks on. All of it is its own: it sees what happens and is asked for nothing. */
interface Shadow extends EffectivePolicy {
  readonly gate: CircuitBreaker | undefined
  readonly bulkhead: Bulkhead | undefined
  readonly budget: RetryBudget | undefined
}

/** What follows a failure of one kind: a policy of the file, as the engine takes it. */
export interface LineRules extends EffectivePolicy {
  /** The policy as the file has it. */
  readonly record: RetryPolicy
  /** The breaker that counts the failures it decides over. */
  readonly gate: CircuitBreaker | undefined
  /** Whether an override switches retries off: then the options of a call do not turn them on again. */
  readonly isRetryDisabled?: boolean
  /** Where it only looks on. */
  readonly shadow?: Shadow | undefined
}

/** The counters of one kind of call, fed on the path of every call. */
export interface Tally {
  /** A call succeeded with its first attempt. */
  success(startedAt: number): void
  /** Any other attempt ended. */
  attempt(ok: boolean, duration: number | undefined, kind?: string): void
  /** A call ended that failed at least once; `kind` where no attempt stands for its failure. */
  ended(facts: {
    success: boolean
    attempts: number
    duration: number
    policyIds: readonly string[]
    kind?: string | undefined
  }): void
}

/** An operation as a configuration has it, ready to run calls. It never changes: another configuration makes others. */
export interface Line {
  /** The dotted operation, or what the call named itself. */
  readonly operation: string
  readonly subsystem: string | undefined
  /** Switched off: calls pass straight through. */
  readonly enabled: boolean
  /** Whether a first attempt needs nothing but to be made. */
  readonly plain: boolean
  readonly core: GuardExecutor
  /** By the kind of a failure; `rest` for every other kind; `base` before the first failure. */
  readonly rules: ReadonlyMap<string, LineRules>
  readonly rest: LineRules
  readonly base: LineRules
  /** Every breaker that must let a call through. */
  readonly gates: readonly CircuitBreaker[]
  /** Those of its rules that only look on. */
  readonly shadows: readonly LineRules[]
  readonly tally: Tally
}
