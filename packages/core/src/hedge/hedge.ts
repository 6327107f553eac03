import { setCallTimer } from '../async-context.js'
import { AttemptContext, type AttemptRun, createRun } from '../attempt/attempt.js'
import type { Classification } from '../classify/index.js'
import type { Clock } from '../clock.js'
import type { Duration } from '../duration.js'
import type { Selection } from '../pool/members/member-pool.js'
import { isStopRetrying, unwrapStopRetrying } from '../retry/decide.js'

/** When an attempt that has not settled gets another parallel call. */
export interface HedgeOptions {
  /** How long to wait for a result before another call starts; after a failure it starts at once. */
  delay: Duration
  /** The maximum number of calls in addition to the first. @defaultValue 1 */
  max?: number | undefined
}

/** {@link HedgeOptions}, checked and with defaults. */
export interface HedgeSettings {
  readonly delay: number
  readonly max: number
}

/** The reason with which the signals of slower calls are aborted. */
const LOSER_ABORT_REASON = /* @__PURE__ */ new DOMException(
  'another hedged call succeeded first',
  'AbortError',
)

/** The methods of an execution that its hedged attempt calls. */
export interface HedgeHost {
  /** Calls the guarded function. */
  callFunction(context: AttemptContext): Promise<unknown>
  /** Reserves another call. Returns its member, undefined where there is no pool, false where the call is not allowed. */
  select(): Selection | undefined | false
  /** Handles the failure of one call; returns its classification and whether another call can start at once. */
  onRunFailed(run: AttemptRun, error: unknown): { known: Classification; shouldHedge: boolean }
  /** Adds a failed call to the log while others are still running. */
  appendFailure(run: AttemptRun, error: unknown, known: Classification): void
  /** Handles the end of a call whose result is no longer needed. A deadline counts against its member, an abort does not. */
  cancelRun(run: AttemptRun, reason: unknown, isDeadline: boolean): void
  /** Makes this call the one that represents the attempt in records. */
  promoteRun(run: AttemptRun): void
}

interface HedgedRun extends AttemptRun {
  readonly context: AttemptContext
}

/**
 * One attempt with several parallel calls. Another call starts after each `delay` without a result, and at once after a
 * failure, while `max` and the budget allow it. The first success wins and the other calls are aborted. When the last
 * call has failed, the attempt fails with its error.
 */
export class HedgedAttempt {
  private readonly host: HedgeHost
  private readonly clock: Clock
  private readonly delay: number
  private readonly first: AttemptRun
  private readonly running = new Set<HedgedRun>()
  private callsLeft: number
  private timer: unknown = undefined
  private isOver = false
  private resolve!: (value: unknown) => void
  private reject!: (error: unknown) => void

  constructor(host: HedgeHost, clock: Clock, { delay, max }: HedgeSettings, first: AttemptRun) {
    this.host = host
    this.clock = clock
    this.delay = delay
    this.first = first
    this.callsLeft = max
  }

  start(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      this.startRun(this.first.selection)
    })
  }

  /** Before the attempt is aborted, makes its oldest running call, or one that has already failed, represent the attempt. */
  promoteOldestRun(): void {
    const runs = [...this.running]
    const run = runs.find(({ context }) => context.onDeadline !== undefined) ?? runs[0]
    if (run !== undefined && !this.isOver) this.promote(run)
  }

  /** Aborts all calls. A deadline counts against their members; the caller's abort does not. */
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
    if (this.isOver || this.callsLeft === 0) return
    const selection = this.host.select()
    if (this.isOver) {
      // A listener of the member's breaker aborted the call.
      if (selection) this.host.cancelRun(this.createRun(selection), LOSER_ABORT_REASON, false)
    } else if (selection !== false) {
      this.callsLeft--
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
    if (this.callsLeft > 0) this.waitForNextHedge()
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
    const { known, shouldHedge } = this.host.onRunFailed(run, error)
    if (shouldHedge) this.startNextHedge()
    else this.callsLeft = 0
    if (this.running.size > 0 && !isStopRetrying(error)) this.host.appendFailure(run, error, known)
    else {
      this.promote(run)
      this.finish(unwrapStopRetrying(error), false)
      this.reject(error)
    }
  }
}
