import { Violation } from '../engine/violation.js'
import type { BudgetModel } from './budget-model.js'
import type { BulkheadModel, BulkheadUser } from './bulkhead-model.js'
import { type ContractPolicy, LIMITED_POLICY_ID, policyIdOf } from './contract-policies.js'
import { type DelayRange, delayRangeOf } from './delay-range.js'
import { type BreakerTimes, HedgeReference } from './hedge-reference.js'
import type { PlannedContractCall, PlannedRun, RunEnd } from './planned-contract-calls.js'

/** How long `close` waits for active calls. */
const GRACE_MS = 10_000

const UNWANTED_PREFIX = 'unwanted: '

/** Whether `retryIf` does not want a value. */
export const isUnwanted = (value: unknown): boolean =>
  typeof value === 'string' && value.startsWith(UNWANTED_PREFIX)

/** A call of the function. */
export interface ReferenceRun {
  readonly attempt: number
  readonly startedAt: number
  readonly planned: PlannedRun
  readonly value: string
  readonly error: Error
  isSettled: boolean
  isAborted: boolean
}

/** An attempt as the session of the call must have it. */
export interface ExpectedAttempt {
  readonly number: number
  readonly outcome: 'success' | 'failure' | 'timeout' | 'circuit_open'
  readonly delay: number
  readonly duration: number
}

type State = 'queued' | 'running' | 'failed' | 'waiting' | 'preparing' | 'succeeded' | 'fallback' | 'ended'

/** What may follow a failed attempt: a retry after a delay in a range, or the end for one of the reasons. */
interface Decision {
  readonly at: number
  readonly range: DelayRange | undefined
  readonly reasons: ReadonlySet<string>
}

/** The policy of a call, and the one that applies after a rate limit if that is another one. */
export interface ReferencePolicies {
  readonly default: ContractPolicy
  readonly limited: ContractPolicy | undefined
}

/** The shared limits of the policy of a call. */
export interface ReferenceLimits {
  readonly bulkhead: BulkheadModel | undefined
  readonly budget: BudgetModel | undefined
  readonly breaker: BreakerTimes | undefined
}

/** The clock of the process, and by how much its timers can be wrong since a time. */
export interface ReferenceClock {
  now(): number
  toleranceMs(): number
}

/**
 * What one call must do, step by step: when its function is called, when the call ends and how, and what is recorded about it. The
 * policy decides about everything except for the random part of delays.
 */
export class CallReference implements BulkheadUser {
  readonly name: string
  readonly planned: PlannedContractCall
  /** The policy that applies since the last failure. */
  policy: ContractPolicy
  policyId: string
  readonly submittedAt: number
  state: State = 'queued'
  /** The attempts as the session has them. */
  readonly history: ExpectedAttempt[] = []
  /** Attempts that failed as a whole; a hedged attempt can succeed after a run of it failed. */
  failedAttempts = 0
  attempt = 0
  /** Why the call ended, from the event about its end. */
  stopped: string | undefined = undefined
  endEvents = 0
  isShed = false
  /** Whether the fallback has returned a value. */
  wasServed = false
  /** What the call must settle with. */
  result: { readonly value: unknown } | { readonly error: unknown } | { readonly code: string } | undefined
  private readonly policies: ReferencePolicies
  private readonly limits: ReferenceLimits
  private readonly clock: ReferenceClock
  private readonly runs: ReferenceRun[] = []
  private delay = 0
  /** Whether a retry was withdrawn from the budget and has not started. */
  private hasUnusedRetry = false
  private startedAt = 0
  private attemptDueAt = Infinity
  private decision: Decision | undefined
  private nextStartAt = Infinity
  /** When the call must have ended, if that is decided. */
  private endAt: number | undefined
  /** When the caller or an operator ended the call. */
  private stopRequest: { readonly at: number; readonly stopped: string } | undefined
  private closesAt = Infinity
  private readonly hedges: HedgeReference

  constructor(
    name: string,
    planned: PlannedContractCall,
    policies: ReferencePolicies,
    limits: ReferenceLimits,
    clock: ReferenceClock,
  ) {
    this.name = name
    this.planned = planned
    this.policies = policies
    this.policy = policies.default
    this.policyId = policyIdOf(planned.operation)
    this.limits = limits
    this.hedges = new HedgeReference(limits)
    this.clock = clock
    this.submittedAt = clock.now()
  }

  get isEnded(): boolean {
    return this.state === 'ended'
  }

  get runningCount(): number {
    return this.runs.filter(({ isSettled }) => !isSettled).length
  }

  get isDone(): boolean {
    return (this.isEnded || this.state === 'fallback') && this.runningCount === 0
  }

  get canBeDone(): boolean {
    const canEnd =
      this.state === 'succeeded' ||
      this.stopRequest !== undefined ||
      this.clock.now() >= this.closesAt ||
      (this.state === 'preparing' && this.clock.now() >= this.totalDueAt - this.clock.toleranceMs()) ||
      (this.decision !== undefined && this.state !== 'running' && this.decision.reasons.size > 0)
    return this.isDone || (canEnd && this.runningCount === 0)
  }

  /** The call was made, and the function was called or not. */
  onSubmitted(): void {
    if (this.policy.bulkhead === undefined && this.state === 'queued' && this.stopRequest === undefined)
      this.fail('did not call its function')
  }

  onRunStarted(number: number): ReferenceRun {
    const now = this.clock.now()
    if (this.isEnded) this.fail(`called its function (attempt ${number}) after it had ended`)
    if (this.stopRequest !== undefined)
      this.fail(`called its function after it was ${this.stopRequest.stopped}`)
    if (number === this.attempt && this.policy.hedge !== undefined) this.onHedgeStarted(now)
    else this.onAttemptStarted(number, now)
    const at = Math.min(this.runs.length, this.planned.runs.length - 1)
    const name = `${this.name}, call ${this.runs.length + 1} of the function`
    const planned = this.planned.runs[at] as PlannedRun
    const run: ReferenceRun = {
      attempt: number,
      startedAt: now,
      planned,
      value: planned.end === 'unwanted' ? `${UNWANTED_PREFIX}${name}` : name,
      error: new Error(name),
      isSettled: false,
      isAborted: false,
    }
    this.runs.push(run)
    return run
  }

  private onAttemptStarted(number: number, now: number): void {
    const { policy, limits } = this
    if (limits.breaker?.isOpen) this.fail(`began attempt ${number} while its breaker was open`)
    if (number !== this.attempt + 1) this.fail(`began attempt ${number} after attempt ${this.attempt}`)
    if (number > policy.maxAttempts) this.fail(`began attempt ${number} of ${policy.maxAttempts}`)
    if (this.state === 'queued') {
      limits.bulkhead?.onStarted(this)
      if (policy.bulkhead === undefined) this.checkTime('began its first attempt', this.submittedAt)
      this.startedAt = now
      limits.budget?.countCall(now)
    } else {
      if (this.state !== 'waiting') this.fail(`began attempt ${number} while it was ${this.state}`)
      this.checkTime(`began attempt ${number}`, this.nextStartAt)
    }
    this.state = 'running'
    this.hasUnusedRetry = false
    this.attempt = number
    this.attemptDueAt = Math.min(now + policy.attemptTimeout, this.totalDueAt)
    this.hedges.begin(policy.hedge, now)
  }

  private onHedgeStarted(now: number): void {
    if (this.state !== 'running') this.fail(`began a hedge while it was ${this.state}`)
    const { expectedAt, problem } = this.hedges.start(now, this.clock.toleranceMs())
    if (problem !== undefined) this.fail(problem)
    this.checkTime('began a hedge', expectedAt)
  }

  /** The function has settled. */
  onRunEnded(run: ReferenceRun): void {
    const now = this.clock.now()
    run.isSettled = true
    if (run.isAborted || this.state !== 'running' || run.attempt !== this.attempt) return
    if (now > this.attemptDueAt + this.clock.toleranceMs())
      this.fail(`attempt ${run.attempt} ran for ${now - run.startedAt} ms without a timeout`)
    this.checkHedge(now)
    const { end } = run.planned
    if (end === 'value') {
      this.state = 'succeeded'
      this.endAt = now
      this.addHistory(run, 'success')
      this.result = { value: run.value }
      return
    }
    const isRetryable = end === 'error'
    const others = this.currentRuns.length
    if (isRetryable && this.hedges.onRunFailed(now)) {
      // Another run starts at once, so the attempt has not failed.
      this.addHistory(run, 'failure')
      return
    }
    // The value of a run ends the attempt, also one that is not wanted. So does the error of `stopRetrying`.
    const endsAttempt = others === 0 || end === 'unwanted' || end === 'stop'
    if (end !== 'unwanted' && !isRetryable) this.hedges.stop()
    if (endsAttempt) this.failAttempt(run, end, now)
    else this.addHistory(run, 'failure')
  }

  /** The signal of a call of the function was aborted. */
  onRunAborted(run: ReferenceRun): void {
    const now = this.clock.now()
    run.isAborted = true
    if (run.isSettled || this.state !== 'running' || run.attempt !== this.attempt) return
    if (this.stopRequest !== undefined || now >= this.closesAt - this.clock.toleranceMs()) return
    this.checkHedge(now)
    this.checkTime(`aborted attempt ${run.attempt}`, this.attemptDueAt)
    for (const other of this.currentRuns) other.isAborted = true
    this.failAttempt(run, this.attemptDueAt === this.totalDueAt ? 'total' : 'timeout', now)
  }

  /** An attempt has failed, and the call is retried or ends. */
  private failAttempt(run: ReferenceRun, end: RunEnd | 'timeout' | 'total', at: number): void {
    this.addHistory(run, end === 'timeout' || end === 'total' ? 'timeout' : 'failure')
    this.failedAttempts++
    this.state = 'failed'
    this.endAt = at
    if (end === 'unwanted') this.result = { value: run.value }
    else if (end === 'timeout') this.result = { code: 'ATTEMPT_TIMEOUT' }
    else if (end === 'total') this.result = { code: 'TOTAL_TIMEOUT' }
    else this.result = { error: run.error }
    const { limited } = this.policies
    const isLimited = limited !== undefined && end === 'limited'
    this.policy = isLimited ? limited : this.policies.default
    this.policyId = isLimited ? LIMITED_POLICY_ID : policyIdOf(this.planned.operation)
    this.decision = this.decide(run, end, at)
  }

  private decide({ planned }: ReferenceRun, end: RunEnd | 'timeout' | 'total', at: number): Decision {
    const { policy, limits, attempt } = this
    // A call that ends with a value that is not wanted has one reason.
    const stop = (...reasons: string[]): Decision => ({
      at,
      range: undefined,
      reasons: new Set(end === 'unwanted' ? ['unwanted_value'] : reasons),
    })
    if (end === 'total') return stop('deadline')
    if (end === 'permanent' || end === 'stop') return stop('not_retryable')
    if (attempt >= policy.maxAttempts) return stop('attempts_spent')
    if (end === 'limited' && planned.retryAfter > policy.maxRetryAfter) return stop('deadline')
    const range =
      end === 'limited'
        ? { min: planned.retryAfter, max: planned.retryAfter }
        : delayRangeOf(policy, attempt, this.delay)
    const leftMs = this.totalDueAt - at
    const toleranceMs = this.clock.toleranceMs()
    if (range.min >= leftMs + toleranceMs) return stop('deadline')
    if (limits.breaker?.isOpen) return stop('circuit_open')
    if (limits.budget !== undefined && !limits.budget.withdraw(at)) return stop('budget_spent')
    this.hasUnusedRetry = true
    const mayStop = range.max >= leftMs - toleranceMs
    return { at, range, reasons: mayStop ? stop('deadline').reasons : new Set() }
  }

  /** The event about a retry. */
  onRetryScheduled(attempt: number, delay: number): void {
    const { decision } = this
    if (this.state !== 'failed' || decision?.range === undefined)
      this.fail(
        `scheduled attempt ${attempt} while it was ${this.state}, expected ${this.describeDecision()}`,
      )
    const { min, max } = decision.range
    this.checkTime(`scheduled attempt ${attempt}`, decision.at)
    if (attempt !== this.attempt + 1) this.fail(`scheduled attempt ${attempt} after attempt ${this.attempt}`)
    if (delay < min - 0.01 || delay > max + 0.01)
      this.fail(`waits for ${delay} ms before attempt ${attempt}, expected ${min} to ${max} ms`)
    this.state = 'waiting'
    this.decision = undefined
    this.endAt = undefined
    this.delay = delay
    this.nextStartAt = this.clock.now() + delay
  }

  /** `beforeRetry` was called. The returned function reports its end. */
  onBeforeRetry(): (error: Error | undefined) => void {
    if (this.state !== 'waiting') this.fail(`called beforeRetry while it was ${this.state}`)
    this.checkTime('called beforeRetry', this.nextStartAt)
    this.state = 'preparing'
    this.nextStartAt = Infinity
    const attempt = this.attempt
    return (error) => {
      const now = this.clock.now()
      if (this.state !== 'preparing' || this.attempt !== attempt) return
      if (now > this.totalDueAt + this.clock.toleranceMs())
        this.fail('ran beforeRetry after its total timeout')
      if (error === undefined) {
        this.state = 'waiting'
        this.nextStartAt = now
        return
      }
      this.returnRetry()
      this.result = { error }
      this.decision = { at: now, range: undefined, reasons: new Set(['before_retry']) }
      this.state = 'failed'
      this.endAt = now
    }
  }

  /** The call ends: a retry that it has withdrawn and not begun is returned to the budget. */
  private returnRetry(): void {
    if (this.hasUnusedRetry) this.limits.budget?.refund(this.clock.now())
    this.hasUnusedRetry = false
  }

  /** A breaker that opened during the delay of a retry prevents the retry when the delay is over. */
  private preventRetry(): void {
    const { state, limits, nextStartAt, clock, result } = this
    if (state !== 'waiting' || !limits.breaker?.isOpen) return
    if (Math.abs(clock.now() - nextStartAt) > clock.toleranceMs()) return
    const isUnwantedValue = result !== undefined && 'value' in result
    const reasons = new Set([isUnwantedValue ? 'unwanted_value' : 'circuit_open'])
    this.decision = { at: nextStartAt, range: undefined, reasons }
    this.endAt = clock.now()
    this.state = 'failed'
  }

  /** The fallback was called. The returned function reports its end. */
  onFallback(): (result: CallReference['result']) => void {
    this.preventRetry()
    this.returnRetry()
    if (this.stopRequest !== undefined)
      this.fail(`called its fallback after it was ${this.stopRequest.stopped}`)
    if (this.state === 'preparing') this.checkTime('called its fallback', this.totalDueAt)
    else if (this.state !== 'failed' || this.decision?.reasons.size === 0)
      this.fail(`called its fallback while it was ${this.state}`)
    else this.checkTime('called its fallback', this.decision?.at ?? Number.NaN)
    this.state = 'fallback'
    this.endAt = undefined
    return (result) => {
      if (this.state !== 'fallback' || this.stopRequest !== undefined) return
      this.endAt = this.clock.now()
      this.result = result
      this.wasServed = result !== undefined && 'value' in result
    }
  }

  /** The caller aborts the call now, or an operator cancels it. Reported before it happens. */
  onStopRequested(stopped: 'aborted' | 'cancelled', error: unknown): void {
    if (this.isEnded || this.stopRequest !== undefined || this.state === 'succeeded') return
    const at = this.clock.now()
    this.returnRetry()
    this.stopRequest = { at, stopped }
    this.endAt = at
    this.result = stopped === 'aborted' ? { error } : { code: 'CANCELLED' }
  }

  /** The runtime closes: the call is cancelled if it has not ended after the grace period. */
  onClosing(): void {
    this.closesAt = this.clock.now() + GRACE_MS
  }

  /** The event about the end of the call, or its rejection without one. */
  onEndReported(isSuccess: boolean, stopped: string | undefined): void {
    this.endEvents++
    if (isSuccess) {
      if (this.state !== 'succeeded') this.fail(`reported a success while it was ${this.state}`)
      if (this.failedAttempts === 0) this.fail('reported a recovery without a failed attempt')
      this.stopped = 'succeeded'
      return
    }
    this.stopped = stopped
    this.checkReason(String(stopped))
  }

  private checkReason(stopped: string): void {
    this.preventRetry()
    this.returnRetry()
    const { stopRequest, state } = this
    if (stopRequest !== undefined) {
      if (stopped !== stopRequest.stopped) this.fail(`ended as ${stopped}, expected ${stopRequest.stopped}`)
      this.addRunningAttempt()
    } else if (stopped === 'cancelled') {
      this.checkTime('was cancelled', this.closesAt)
      this.endAt = this.clock.now()
      this.result = { code: 'CANCELLED' }
      this.addRunningAttempt()
    } else if (stopped === 'bulkhead_full' && state === 'queued') {
      this.onRejected()
      this.history.push({ number: 1, outcome: 'circuit_open', delay: 0, duration: 0 })
    } else if (stopped === 'deadline' && state === 'preparing') {
      this.checkTime('ended', this.totalDueAt)
      this.endAt = this.clock.now()
      this.result = { code: 'TOTAL_TIMEOUT' }
    } else if (state !== 'fallback' && this.decision?.reasons.has(stopped) !== true)
      this.fail(`ended as ${stopped} while it was ${state}, expected ${this.describeDecision()}`)
  }

  private onRejected(): void {
    const { clock, limits } = this
    limits.bulkhead?.onRejected(this, clock.now(), clock.toleranceMs())
    this.endAt = clock.now()
    this.result = { code: 'BULKHEAD_FULL' }
  }

  /** The attempt that runs when the call is aborted or cancelled is recorded as failed. */
  private addRunningAttempt(): void {
    const [first] = this.currentRuns
    if (this.state === 'running' && first !== undefined) this.addHistory(first, 'failure')
  }

  /** The promise of the call has settled. */
  onSettled(settled: { readonly value: unknown } | { readonly error: unknown }): void {
    if (
      this.endEvents === 0 &&
      this.state === 'queued' &&
      'error' in settled &&
      this.stopRequest === undefined
    ) {
      this.onRejected()
      this.isShed = true
      this.stopped = 'bulkhead_full'
      this.history.push({ number: 1, outcome: 'circuit_open', delay: 0, duration: 0 })
    }
    const expectedEvents = this.isShed || (this.state === 'succeeded' && this.failedAttempts === 0) ? 0 : 1
    if (this.endEvents !== expectedEvents)
      this.fail(`has ${this.endEvents} events about its end, expected ${expectedEvents}`)
    if (this.endAt === undefined) this.fail(`settled while it was ${this.state}`)
    this.checkTime('settled', this.endAt)
    this.checkHedge(this.clock.now())
    const { result } = this
    const matches =
      result !== undefined &&
      ('value' in result
        ? 'value' in settled && settled.value === result.value
        : 'error' in settled &&
          ('error' in result
            ? settled.error === result.error
            : (settled.error as { code?: unknown }).code === result.code))
    if (!matches) this.fail(`settled with ${describe(settled)}, expected ${describe(result)}`)
    for (const { isSettled, isAborted, value } of this.runs)
      if (!isSettled && !isAborted) this.fail(`ended and did not abort ${value}`)
    this.state = 'ended'
  }

  private get totalDueAt(): number {
    return this.startedAt + this.policy.totalTimeout
  }

  /** The runs of the current attempt that have neither settled nor were aborted. */
  private get currentRuns(): ReferenceRun[] {
    return this.runs.filter(
      ({ attempt, isSettled, isAborted }) => attempt === this.attempt && !isSettled && !isAborted,
    )
  }

  private addHistory({ attempt, startedAt }: ReferenceRun, outcome: ExpectedAttempt['outcome']): void {
    const duration = this.clock.now() - startedAt
    this.history.push({ number: attempt, outcome, delay: this.delay, duration })
  }

  private checkHedge(now: number): void {
    const overdueMs =
      this.state === 'running' ? this.hedges.overdue(now, this.clock.toleranceMs()) : undefined
    if (overdueMs !== undefined) this.fail(`did not begin a hedge ${overdueMs} ms ago`)
  }

  private checkTime(what: string, expected: number): void {
    const now = this.clock.now()
    if (!(Math.abs(now - expected) <= this.clock.toleranceMs()))
      this.fail(`${what} after ${now - this.submittedAt} ms, expected ${expected - this.submittedAt} ms`)
  }

  private describeDecision(): string {
    const { range, reasons } = this.decision ?? {}
    const retry = range === undefined ? [] : [`a retry after ${range.min} to ${range.max} ms`]
    return [...retry, ...(reasons ?? [])].join(' or ') || 'no decision'
  }

  private fail(problem: string): never {
    throw new Violation('policies', `${this.name} ${problem}`)
  }
}

const describe = (result: object | undefined): string => {
  if (result === undefined) return 'nothing'
  const [[kind, value] = []] = Object.entries(result)
  return `the ${kind} ${value instanceof Error ? `${(value as { code?: string }).code ?? ''} ${value.message}` : String(value)}`
}
