import type { CircuitBreaker } from './breaker.js'
import { isCountedFailure } from './counted-failure.js'

/** The leave to make one call. Its result is told once; later words change nothing. */
export interface Permit {
  /** The call succeeded. */
  success(): void
  /** The call failed. An error that does not count is ignored; no error at all counts. */
  failure(error?: unknown): void
  /** The call says nothing about the target. */
  ignore(): void
}

/** What the result of a call is to the breaker; undefined says nothing. */
export type BreakerOutcome = 'success' | 'failure' | undefined

/** What a breaker must know of a call that it let through. */
export interface PermitState {
  /** The stretch of the breaker's life that admitted the call; a later one takes no notice of it. */
  epoch: number
  /** When the call began. */
  startedAt: number
  /** When a test's place is free again. */
  leaseEnd: number
}

/** A {@link Permit} that is its own pass. */
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
