import type { BreakerOutcome, PermitState } from './permit.js'
import type { BreakerState } from './state.js'

/** A command of an operator. */
type OperatorCommand = 'trip' | 'reset' | 'disable' | 'enable'

/** The state of a breaker as the other nodes report it. Durations are in milliseconds. */
export interface RemoteBreakerState {
  readonly state: 'closed' | 'open'
  /** The rest of the open time. */
  readonly left: number
  /** The whole open time. */
  readonly openFor: number
  /** How often the breaker opened in a row. */
  readonly openings: number
  readonly failures: number
  /** Whether the breaker is disabled. */
  readonly off: boolean
  /** The duration for which an operator tripped the breaker; 0 if the settings determine the open time. */
  readonly tripFor?: number | undefined
}

/** Connects a breaker with those of the same name on other nodes. Its methods must neither wait nor throw. */
export interface BreakerCoordinator {
  /** Set when a call is rejected, because a probe is then wanted as soon as one is allowed. */
  isProbeWanted: boolean
  /** Returns when a probe that is due here is allowed; a time that has passed means now. */
  probeAllowedAt(lease: number, now: number): number
  /** A probe started. */
  onProbeStarted(permit: PermitState, lease: number): void
  /** A probe ended, and its result is counted next. The outcome is undefined where it is ignored or came too late. */
  onProbeEnded(permit: PermitState, outcome: BreakerOutcome): void
  /** A result was counted in `state`. A state change that it caused has already happened. */
  onResult(state: BreakerState, isFailure: boolean): void
  /** An operator sent a command. */
  onCommand(command: OperatorCommand): void
}
