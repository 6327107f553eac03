import { setCallTimer } from '../async-context.js'
import { AttemptContext, type AttemptRun, createRun } from '../attempt/attempt.js'
import type { Classification } from '../classify/index.js'
import type { Clock } from '../clock.js'
import type { Duration } from '../duration.js'
import type { Selection } from '../pool/members/member-pool.js'
import { isStopRetrying, unwrapStopRetrying } from '../retry/decide.js'

/** When an attempt that has not settled gets another run: a further call of the function, parallel to the first. */
export interface HedgeOptions {
  /** How long to wait for a result before another run starts; after a failure it starts at once. */
  delay: Duration
  /** The maximum number of runs in addition to the first. @defaultValue 1 */
  max?: number | undefined
}

/** {@link HedgeOptions}, checked and with defaults. */
export interface HedgeSettings {
  readonly delay: number
  readonly max: number
}

/** The reason with which the signals of slower runs are aborted. */
const LOSER_ABORT_REASON = /* @__PURE__ */ new DOMException(
  'another hedged call succeeded first',
  'AbortError',
)

/** The methods of an execution that its hedged attempt calls. */
export interface HedgeHost {
  /** Calls the guarded function. */
  callFunction(context: AttemptContext): Promise<unknown>
  /** Reserves another run. Returns its member, undefined where there is no pool, false where the run is not allowed. */
  select(): Selection | undefined | false
  /** Handles the failure of one run; returns its classification and whether another run can start at once. */
  onRunFailed(run: AttemptRun, error: unknown): { classification: Classification; shouldHedge: boolean }
  /** Adds a failed run to the log while others are still running. */
  appendFailure(run: AttemptRun, error: unknown, classification: Classification): void
  /** Handles the end of a run whose result is no longer needed. A deadline counts against its member, an abort does not. */
  cancelRun(run: AttemptRun, reason: unknown, isDeadline: boolean): void
  /** Makes this run the one that represents the attempt in records. */
  promoteRun(run: AttemptRun): void
}

interface HedgedRun extends AttemptRun {
  readonly context: AttemptContext
}

/**
 * One attempt with several parallel runs. Another run starts after each `delay` without a result, and at once after a
 * failure, while `max` and the budget allow it. The first success wins and the other runs are aborted. When the last
 * run has failed, the attempt fails with its error.
 */
export class HedgedAttempt {
  private readonly host: HedgeHost
  private readonly clock: Clock
  private readonly delay: number
  private readonly first: AttemptRun
  private readonly running = new Set<HedgedRun>()
  private runsLeft: number
  private timer: unknown = undefined
  private isOver = false
  private resolve!: (value: unknown) => void
  private reject!: (error: unknown) => void

  constructor(host: HedgeHost, clock: Clock, { delay, max }: HedgeSettings, first: AttemptRun) {
    this.host = host
    this.clock = clock
    this.delay = delay
    this.first = first
    this.runsLeft = max
  }

  start(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      this.startRun(this.first.selection)
    })
  }

  /** Before the attempt is aborted, makes its oldest run, or one that has already failed, represent the attempt. */
  promoteOldestRun(): void {
    const runs = [...this.running]
    const run = runs.find(({ context }) => context.onDeadline !== undefined) ?? runs[0]
    if (run !== undefined && !this.isOver) this.promote(run)
  }

  /** Aborts all runs. A deadline counts against their members; the caller's abort does not. */
  cancel(reason: unknown, isDeadline: boolean): void {
    if (this.isOver) return
    this.finish(reason, isDeadline)
    this.reject(reason)
  }

  private promote(run: HedgedRun): void {
    this.running.delete(run)
    this.host.promoteRun(run)
  }

  private finish(reason: unknown, isDeadline: boolean): void {
    this.isOver = true
    this.clock.clearTimer(this.timer)
    for (const run of this.running) {
      this.host.cancelRun(run, reason, isDeadline)
      run.context.abort(reason)
    }
  }

  private readonly startNextHedge = (): void => {
    this.clock.clearTimer(this.timer)
    if (this.isOver || this.runsLeft === 0) return
    const selection = this.host.select()
    if (this.isOver) {
      // A listener of the member's breaker aborted the call.
      if (selection) this.host.cancelRun(this.createRun(selection), LOSER_ABORT_REASON, false)
    } else if (selection !== false) {
      this.runsLeft--
      this.startRun(selection)
    } else if (this.running.size > 0 && this.delay > 0) this.waitForNextHedge()
  }

  private waitForNextHedge(): void {
    this.timer = setCallTimer(this.clock, this.startNextHedge, this.delay)
  }

  private createRun(selection: Selection | undefined): HedgedRun {
    const { number, sequence } = this.first
    const context = new AttemptContext(number, selection?.member)
    return createRun(number, this.clock.now(), sequence, context, selection) as HedgedRun
  }

  private startRun(selection: Selection | undefined): void {
    const run = this.createRun(selection)
    this.running.add(run)
    if (this.runsLeft > 0) this.waitForNextHedge()
    this.host.callFunction(run.context).then(
      (value) => {
        if (this.isOver) return
        this.promote(run)
        this.finish(LOSER_ABORT_REASON, false)
        this.resolve(value)
      },
      (error: unknown) => {
        if (!this.isOver) this.onRunFailed(run, error)
      },
    )
  }

  private onRunFailed(run: HedgedRun, error: unknown): void {
    this.running.delete(run)
    const { classification, shouldHedge } = this.host.onRunFailed(run, error)
    if (shouldHedge) this.startNextHedge()
    else this.runsLeft = 0
    if (this.running.size > 0 && !isStopRetrying(error)) this.host.appendFailure(run, error, classification)
    else {
      this.promote(run)
      this.finish(unwrapStopRetrying(error), false)
      this.reject(error)
    }
  }
}
