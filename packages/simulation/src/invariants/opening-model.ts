import type { Holdfast } from '@holdfast/runtime'
import type { CircuitBreaker } from 'holdfast'
import { Violation } from '../engine/violation.js'
import type { Process } from '../process/simulated-node.js'
import type { Operation } from '../scenario/scenario.js'

/** The operation whose breaker decides alone: only attempts of its own process can open it. */
const LONE_OPERATION: Operation = 'report'

/** Openings within this time after a trip need no failures. */
const TRIP_MS = 300_000

interface LoneBreaker {
  readonly breaker: CircuitBreaker
  /** When the current state began. */
  changedAt: number
  state: string
  trippedAt: number
  /** Failed attempts of the process: when they began, and when they ended. */
  failures: { readonly startedAt: number; readonly endedAt: number }[]
}

/** A failure of the current event, of an attempt that began in an earlier state. */
interface LateFailure {
  readonly process: Process
  readonly model: LoneBreaker
  /** The last failure of the current state that the breaker knew before. */
  readonly lastFailureTime: number | undefined
}

/**
 * The promise that only failures open a breaker, and only those of attempts that began in its current state: the late result of an
 * attempt from an earlier state changes nothing.
 */
export class OpeningModel {
  private readonly breakers = new WeakMap<Process, LoneBreaker>()
  private lateFailures: LateFailure[] = []
  private readonly check: (fn: () => void) => void
  private readonly now: () => number
  private readonly isRestored: boolean

  /** @param isRestored - whether a process begins with the failures that were saved */
  constructor(check: (fn: () => void) => void, now: () => number, isRestored: boolean) {
    this.check = check
    this.now = now
    this.isRestored = isRestored
  }

  onStarted(process: Process, runtime: Holdfast): void {
    const { breaker } = runtime.guard(LONE_OPERATION)
    if (breaker === undefined) return
    const { failureThreshold, windowDuration, windowType, slowCallDuration } = breaker.settings
    const isCounted = windowType === 'rolling' && slowCallDuration === undefined
    const model: LoneBreaker = {
      breaker,
      changedAt: this.now(),
      state: breaker.currentState,
      trippedAt: Number.NEGATIVE_INFINITY,
      failures: [],
    }
    this.breakers.set(process, model)
    const startedAt = this.now()
    breaker.on(({ toState }) => {
      if (!process.isAlive) return
      const { changedAt, state, failures } = model
      const now = this.now()
      Object.assign(model, { changedAt: now, state: toState, failures: [] })
      if (!isCounted || toState !== 'open' || now - model.trippedAt < TRIP_MS) return
      if (this.isRestored && now - startedAt <= windowDuration) return
      const since = state === 'half_open' ? changedAt : Math.max(changedAt, now - windowDuration - 1)
      const counted = failures.filter(({ startedAt, endedAt }) => startedAt >= changedAt && endedAt >= since)
      const expected = state === 'half_open' ? 1 : failureThreshold
      if (counted.length < expected)
        this.check(() => {
          throw new Violation(
            'openings',
            `${process.name} opened ${LONE_OPERATION} in the state ${state} with ${counted.length} failures of that state, expected ${expected}`,
          )
        })
    })
  }

  /** An operator trips the breaker. */
  onTripped(process: Process, operation: Operation): void {
    const model = this.breakers.get(process)
    if (operation === LONE_OPERATION && model !== undefined) model.trippedAt = this.now()
  }

  /** An attempt has failed. It may end before the breaker knows it. */
  onAttemptFailed(process: Process, operation: Operation, startedAt: number): void {
    const model = this.breakers.get(process)
    if (operation !== LONE_OPERATION || model === undefined) return
    const now = this.now()
    model.failures.push({ startedAt, endedAt: now })
    if (startedAt < model.changedAt)
      this.lateFailures.push({ process, model, lastFailureTime: model.breaker.lastFailureTime })
  }

  /** Checks after each event that a late failure has changed nothing. */
  onEventEnded(): void {
    if (this.lateFailures.length === 0) return
    const found = this.lateFailures
    this.lateFailures = []
    const now = this.now()
    for (const { process, model, lastFailureTime } of found) {
      const isLateOnly = model.failures.every(
        ({ startedAt, endedAt }) => endedAt < now || startedAt < model.changedAt,
      )
      if (process.isAlive && isLateOnly && model.breaker.lastFailureTime !== lastFailureTime)
        throw new Violation(
          'openings',
          `${process.name} counted a failure of ${LONE_OPERATION} whose attempt began before the state ${model.state}`,
        )
    }
  }
}
