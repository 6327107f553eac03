import type { BreakerOutcome, PermitState } from './permit.js'
import type { BreakerState } from './state.js'

/** What an operator does to a breaker. */
type OperatorCommand = 'trip' | 'reset' | 'disable' | 'enable'

/** Where others say that a breaker stands. Durations are milliseconds. */
export interface RemoteBreakerState {
  readonly state: 'closed' | 'open'
  /** What is left of its open time. */
  readonly left: number
  readonly openFor: number
  readonly openings: number
  readonly failures: number
  readonly off: boolean
}

/** What stands between a breaker and others of the same name elsewhere. Nothing here may wait or throw. */
export interface BreakerCoordinator {
  /** Set when a caller is refused: somebody will want to test it. */
  isProbeWanted: boolean
  /** Until when a test whose time has come must wait for its turn; a time that has passed where it may begin. */
  probeAllowedAt(lease: number, now: number): number
  /** A test begins. */
  onProbeStarted(pass: PermitState, lease: number): void
  /** A test ended, and its result is counted next; undefined where it says nothing or came too late. */
  onProbeEnded(pass: PermitState, verdict: BreakerOutcome): void
  /** A result was counted in the state `phase`; where that has changed the state, it has changed by now. */
  onResult(phase: BreakerState, failed: boolean): void
  /** An operator acted. */
  onCommand(order: OperatorCommand): void
}
