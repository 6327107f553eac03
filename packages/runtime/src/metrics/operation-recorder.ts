import { type OperationCounters, recordDuration } from './counters.js'
import type { Metrics } from './metrics.js'
import { LABEL_FIELDS, OPERATION_FIELDS, operationBreakerLabel, TOTAL_FIELDS } from './series-registry.js'

/** After each flush, this many first-attempt successes are timed individually, and then one of as many. A power of two. */
const SAMPLE_EVERY = 16

/** How a call ended that failed at least once or was rejected. */
export interface CallFacts {
  success: boolean
  /** The number of attempts. */
  attempts: number
  /** Milliseconds from start to end, including delays. */
  duration: number
  /** The policies that made decisions. The call counts for the last one; without any, for the operation's policy. */
  policyIds?: readonly string[] | undefined
  /** The kind of a failure that has no attempt. */
  kind?: string | undefined
  /** Whether the call was rejected before its first attempt. */
  isRejected?: boolean | undefined
}

/** What the calls of a recorder are counted under. */
interface RecorderLabels {
  readonly policyId: string
  readonly subsystem: string | undefined
  readonly operation: string
  /** The breakers that calls must pass; `pool:POOL` for those of a pool's members. */
  readonly breakers: readonly string[]
}

/** The counters of one operation. A first-attempt success costs one addition; everything else is recorded at once. */
export class OperationRecorder {
  private firstAttemptSuccesses = 0
  private sampledDuration = 0
  private readonly metrics: Metrics
  private readonly policyId: string
  private readonly subsystem: string | undefined
  private readonly operation: string
  private readonly breakerLabels: readonly string[]
  private readonly totals: OperationCounters

  constructor(metrics: Metrics, { policyId, subsystem, operation, breakers }: RecorderLabels) {
    this.operation = operation
    this.breakerLabels = breakers.map((breaker) => operationBreakerLabel(operation, breaker))
    this.metrics = metrics
    this.policyId = policyId
    this.subsystem = subsystem
    this.totals = metrics.totals.operations.get(operation)
  }

  /** A call succeeded with its first attempt, which started at `startedAt` in monotonic time. */
  recordFirstAttemptSuccess(startedAt: number): void {
    const count = this.firstAttemptSuccesses + 1
    if (count > SAMPLE_EVERY && (count & (SAMPLE_EVERY - 1)) !== 0 && startedAt < this.metrics.minuteEndsAt)
      this.firstAttemptSuccesses = count
    else this.recordSample(startedAt)
  }

  /**
   * An attempt ended that is not a first-attempt success. `duration` is undefined where it never started; `kind` is the
   * kind of a failure.
   */
  recordAttempt(ok: boolean, duration: number | undefined, kind?: string): void {
    const { metrics } = this
    metrics.tick()
    if (duration !== undefined) {
      metrics.recordLatency(duration, 1)
      metrics.addToTotal(TOTAL_FIELDS.attemptTime, duration)
      metrics.addToTotal(TOTAL_FIELDS.timedAttempts, 1)
      recordDuration(this.totals.attempts, duration, 1)
    }
    if (!ok && kind !== undefined) metrics.recordFailure(kind)
  }

  /** A call ended that is not a first-attempt success. Its attempts have been recorded separately. */
  recordCallEnd({ success, attempts, duration, policyIds, kind, isRejected = false }: CallFacts): void {
    const { metrics, totals } = this
    const retries = Math.max(0, attempts - 1)
    metrics.tick()
    metrics.addToTotal(TOTAL_FIELDS.sessions, 1)
    metrics.addToTotal(TOTAL_FIELDS.attempts, attempts)
    metrics.addToTotal(TOTAL_FIELDS.retries, retries)
    metrics.addToTotal(TOTAL_FIELDS.most, attempts)
    metrics.addToTotal(TOTAL_FIELDS.callTime, duration)
    if (success) {
      metrics.addToTotal(TOTAL_FIELDS.successes, 1)
      metrics.recordSuccess(attempts, 1)
    }
    if (kind !== undefined) metrics.recordFailure(kind)
    if (isRejected && kind !== undefined) totals.rejections.set(kind, (totals.rejections.get(kind) ?? 0) + 1)
    this.addToLabels(policyIds?.at(-1) ?? this.policyId, 1, success ? 1 : 0, attempts)
    this.addToOperation(1, success ? 1 : 0, retries, isRejected ? 1 : 0)
    if (!isRejected) this.recordCallDuration(duration, 1)
    if (retries > 0) totals[success ? 'recovered' : 'exhausted']++
    else totals[success ? 'succeeded' : 'failed']++
    totals.retries += retries
    recordDuration(totals.calls, duration, 1)
  }

  /** Adds the counts since the last flush to the series. @internal */
  flushCounts(): void {
    const { metrics, firstAttemptSuccesses, totals } = this
    // Calls after the last sample get the average duration.
    const sampled =
      firstAttemptSuccesses <= SAMPLE_EVERY
        ? firstAttemptSuccesses
        : firstAttemptSuccesses - (firstAttemptSuccesses & (SAMPLE_EVERY - 1))
    const time = sampled === 0 ? 0 : (this.sampledDuration * firstAttemptSuccesses) / sampled
    metrics.addToTotal(TOTAL_FIELDS.sessions, firstAttemptSuccesses)
    metrics.addToTotal(TOTAL_FIELDS.successes, firstAttemptSuccesses)
    metrics.addToTotal(TOTAL_FIELDS.attempts, firstAttemptSuccesses)
    metrics.addToTotal(TOTAL_FIELDS.most, 1)
    metrics.addToTotal(TOTAL_FIELDS.callTime, time)
    metrics.addToTotal(TOTAL_FIELDS.attemptTime, time)
    metrics.addToTotal(TOTAL_FIELDS.timedAttempts, firstAttemptSuccesses)
    metrics.recordSuccess(1, firstAttemptSuccesses)
    this.addToLabels(this.policyId, firstAttemptSuccesses, firstAttemptSuccesses, firstAttemptSuccesses)
    this.addToOperation(firstAttemptSuccesses, firstAttemptSuccesses, 0, 0)
    totals.succeeded += firstAttemptSuccesses
    this.firstAttemptSuccesses = 0
    this.sampledDuration = 0
  }

  private recordSample(startedAt: number): void {
    const { metrics, totals } = this
    const duration = Math.max(0, metrics.tick() - startedAt)
    const count = ++this.firstAttemptSuccesses
    if (count === 1) metrics.activeRecorders.push(this)
    const weight = count <= SAMPLE_EVERY ? 1 : SAMPLE_EVERY
    this.sampledDuration += duration * weight
    metrics.recordLatency(duration, weight)
    this.recordCallDuration(duration, weight)
    recordDuration(totals.calls, duration, weight)
    recordDuration(totals.attempts, duration, weight)
  }

  private addToOperation(calls: number, successes: number, retries: number, rejections: number): void {
    const { minute, ownSeries } = this.metrics
    const series = ownSeries.operations.get(this.operation)
    series.add(minute, OPERATION_FIELDS.calls, calls)
    series.add(minute, OPERATION_FIELDS.successes, successes)
    series.add(minute, OPERATION_FIELDS.retries, retries)
    series.add(minute, OPERATION_FIELDS.rejections, rejections)
    for (const label of this.breakerLabels) ownSeries.operationBreakers.get(label).add(minute, 0, calls)
  }

  private recordCallDuration(duration: number, weight: number): void {
    const { minute, ownSeries } = this.metrics
    const label = ownSeries.operations.labelFor(this.operation)
    ownSeries.operationLatencies.get(label).add(minute, duration, weight)
  }

  private addToLabels(policyId: string, sessions: number, successes: number, attempts: number): void {
    const { minute, ownSeries } = this.metrics
    const subsystem = this.subsystem === undefined ? undefined : ownSeries.subsystems.get(this.subsystem)
    for (const series of [ownSeries.policies.get(policyId), subsystem]) {
      series?.add(minute, LABEL_FIELDS.sessions, sessions)
      series?.add(minute, LABEL_FIELDS.successes, successes)
      series?.add(minute, LABEL_FIELDS.attempts, attempts)
    }
  }
}
