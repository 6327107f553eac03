import { type OperationCounters, recordDuration } from './counters.js'
import type { Metrics } from './metrics.js'
import { LABEL_FIELDS, TOTAL_FIELDS } from './series-registry.js'

/** So many first-try successes after a reading are timed one by one, and then one in as many. A power of two. */
const SAMPLE_EVERY = 16

/** How a call ended that failed at least once, or that was refused. */
export interface CallFacts {
  success: boolean
  /** How many attempts it had. */
  attempts: number
  /** Milliseconds from its beginning to its end, waits included. */
  duration: number
  /** The policies that decided over it; it counts for the last. Where none is given, for the line's. */
  policyIds?: readonly string[] | undefined
  /** A failure by kind that no attempt stands for. */
  kind?: string | undefined
}

/**
 * The counters of one kind of call. Whoever makes calls keeps one for each operation it knows. A first-try success costs an
 * addition; everything else goes to the ledger at once.
 */
export class OperationRecorder {
  private firstAttemptSuccesses = 0
  private sampledDuration = 0
  private readonly metrics: Metrics
  private readonly policyId: string
  private readonly subsystem: string | undefined
  private readonly totals: OperationCounters

  constructor(metrics: Metrics, policyId: string, subsystem: string | undefined, operation: string) {
    this.metrics = metrics
    this.policyId = policyId
    this.subsystem = subsystem
    this.totals = metrics.totals.operations.get(operation)
  }

  /** A call succeeded with its first attempt, which began at `startedAt`, in monotonic time. */
  recordFirstAttemptSuccess(startedAt: number): void {
    const count = this.firstAttemptSuccesses + 1
    if (count > SAMPLE_EVERY && (count & (SAMPLE_EVERY - 1)) !== 0 && startedAt < this.metrics.minuteEndsAt)
      this.firstAttemptSuccesses = count
    else this.recordSample(startedAt)
  }

  /**
   * An attempt ended that is not a first-try success. `duration` is left out where it never began; `kind` says what a
   * failure was.
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

  /** A call ended that is not a first-try success. Its attempts have been told one by one. */
  recordCallEnd({ success, attempts, duration, policyIds, kind }: CallFacts): void {
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
    this.addToLabels(policyIds?.at(-1) ?? this.policyId, 1, success ? 1 : 0, attempts)
    if (retries > 0) totals[success ? 'recovered' : 'exhausted']++
    else totals[success ? 'succeeded' : 'failed']++
    totals.retries += retries
    recordDuration(totals.calls, duration, 1)
  }

  /** Brings what was counted since the last time into the ledger. @internal */
  flushCounts(): void {
    const { metrics, firstAttemptSuccesses, totals } = this
    // Those after the last sample took what the others took on average.
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
    recordDuration(totals.calls, duration, weight)
    recordDuration(totals.attempts, duration, weight)
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
