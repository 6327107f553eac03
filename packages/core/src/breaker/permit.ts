import type { CircuitBreaker } from './breaker.js'
import { isCountedFailure } from './counted-failure.js'

/** The right to run one attempt. Its outcome is recorded once; further outcomes are ignored. */
export interface Permit {
  /** The call succeeded. */
  success(): void
  /** The call failed. An error that does not count as a failure is ignored; without an argument it counts. */
  failure(error?: unknown): void
  /** Releases the permit without an outcome. */
  ignore(): void
}

/** How a breaker counts the result of a call; undefined is ignored. */
export type BreakerOutcome = 'success' | 'failure' | undefined

/** The state that a breaker keeps for an admitted call. */
export interface PermitState {
  /** The epoch that admitted the call; the result is ignored in any later epoch. */
  epoch: number
  /** When the call started. */
  startedAt: number
  /** When the lease of a probe ends, and another probe can take its place. */
  leaseEnd: number
}

/** A {@link Permit} with its state in the same object. */
export class CallPermit implements Permit, PermitState {
  epoch = 0
  startedAt = 0
  leaseEnd = 0
  private readonly breaker: CircuitBreaker

  constructor(breaker: CircuitBreaker) {
    this.breaker = breaker
  }

  success(): void {
    this.breaker.release(this, 'success')
  }

  failure(...errors: [error?: unknown]): void {
    const { breaker } = this
    breaker.release(
      this,
      errors.length === 0 || isCountedFailure(breaker.settings, errors[0]) ? 'failure' : undefined,
    )
  }

  ignore(): void {
    this.breaker.release(this, undefined)
  }
}
