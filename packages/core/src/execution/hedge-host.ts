import type { AttemptContext, AttemptRun } from '../attempt/attempt.js'
import type { Classification } from '../classify/index.js'
import type { HedgeHost } from '../hedge/hedge.js'
import type { Selection } from '../pool/members/member-pool.js'
import { withdrawRetry } from '../retry/budget.js'
import { isRetryable, isStopRetrying, unwrapStopRetrying } from '../retry/decide.js'
import type { CompiledRetryPolicy } from '../retry/options.js'
import type { Admission } from './admission.js'
import type { AttemptLog } from './attempt-log.js'
import type { Executor } from './executor.js'
import type { MemberSelection } from './member-selection.js'
import { isNestedFailure } from './nested-failure.js'
import { CANCELLED_ATTEMPT } from './outcome.js'

/** What the parallel runs of a hedged attempt need of their execution. */
export interface HedgedExecution {
  readonly executor: Executor
  readonly policy: CompiledRetryPolicy
  readonly admission: Admission | undefined
  readonly members: MemberSelection | undefined
  /** The run that represents the attempt in records. */
  run: AttemptRun | undefined
  /** Calls the guarded function, which uses the slot of the bulkhead until it settles. */
  callFunction(context: AttemptContext): Promise<unknown>
  /** The log, which is created when it is needed. */
  openLog(): AttemptLog
}

/** Applies the rules of an execution to the parallel runs of its hedged attempt. */
export class ExecutionHedgeHost implements HedgeHost {
  private readonly execution: HedgedExecution

  constructor(execution: HedgedExecution) {
    this.execution = execution
  }

  callFunction(context: AttemptContext): Promise<unknown> {
    return this.execution.callFunction(context)
  }

  select(): Selection | undefined | false {
    const { executor, admission, members } = this.execution
    const { pool, budget } = executor.settings
    if (admission?.isClosed() === false || pool?.hasUntriedMember([]) === false) return false
    // The budget comes last, so that no retry is withdrawn for a run that does not start.
    if (budget !== undefined && !withdrawRetry(budget)) return false
    return pool === undefined ? undefined : (members?.select() ?? false)
  }

  onRunFailed(run: AttemptRun, outcome: unknown): { classification: Classification; shouldHedge: boolean } {
    const { executor, policy, members } = this.execution
    const error = unwrapStopRetrying(outcome)
    const classification = executor.classify(error, true)
    const isMemberFault = members?.recordOutcome(run, true, error, classification, undefined) ?? false
    const mustWait =
      classification.retryAfter !== undefined && policy.respectRetryAfter && members === undefined
    const shouldHedge =
      !(policy.nested === 'stop' && isNestedFailure(error, policy, executor, members, run.sequence)) &&
      isRetryable(policy, error, classification, run.number, isMemberFault) &&
      !mustWait &&
      !isStopRetrying(outcome)
    return { classification, shouldHedge }
  }

  appendFailure(run: AttemptRun, error: unknown, classification: Classification): void {
    this.execution.openLog().appendFailure(run, true, error, classification)
  }

  cancelRun(run: AttemptRun, reason: unknown, isDeadline: boolean): void {
    const { executor, members } = this.execution
    const classification = isDeadline ? executor.classify(reason, true) : CANCELLED_ATTEMPT
    members?.recordOutcome(run, true, reason, classification, undefined)
  }

  promoteRun(run: AttemptRun): void {
    this.execution.run = run
  }
}
