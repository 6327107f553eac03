import type { CircuitBreaker } from '../breaker/breaker.js'
import type { PermitState } from '../breaker/permit.js'
import type { Classification } from '../classify/index.js'
import type { HoldfastError } from '../errors.js'
import { breakerOutcome } from './outcome.js'

/** Grants permits to the attempts of one execution, and records their outcomes. */
export interface Admission {
  /** Acquires a permit for an attempt; returns an error where the attempt is rejected. */
  acquirePermit(now: number): HoldfastError | undefined
  /** Records the outcome of the attempt that holds the permit. `at` is when it ended, undefined for just now. */
  recordOutcome(
    hasThrown: boolean,
    result: unknown,
    known: Classification | undefined,
    at: number | undefined,
  ): void
  /** Takes over the permit of a first attempt that was admitted in `epoch`. */
  resumePermit(epoch: number): void
  /** Returns the permit without an outcome. */
  releasePermit(): void
  /** Whether a breaker is open, so that a retry would be rejected. */
  isOpen(): boolean
  /** Whether every breaker is closed, so that hedging can start another run. */
  isClosed(): boolean
}

/** The {@link Admission} of a guard with one breaker. It is also the breaker's permit. */
export class BreakerAdmission implements Admission, PermitState {
  epoch = 0
  startedAt = 0
  leaseEnd = 0
  private readonly breaker: CircuitBreaker
  private readonly lease: number | undefined
  /** Whether the breaker uses another clock than the guard, so that the guard's times must not be passed to it. */
  private readonly hasOwnClock: boolean

  constructor(breaker: CircuitBreaker, lease: number | undefined, hasOwnClock: boolean) {
    this.breaker = breaker
    this.lease = lease
    this.hasOwnClock = hasOwnClock
  }

  acquirePermit(now: number): HoldfastError | undefined {
    const { breaker } = this
    return breaker.tryAcquire(this, this.lease, this.hasOwnClock ? undefined : now)
      ? undefined
      : breaker.createOpenError()
  }

  resumePermit(epoch: number): void {
    this.epoch = epoch
  }

  recordOutcome(
    hasThrown: boolean,
    result: unknown,
    classification: Classification | undefined,
    at: number | undefined,
  ): void {
    const { breaker } = this
    breaker.release(
      this,
      breakerOutcome(breaker, hasThrown, result, classification),
      this.hasOwnClock ? undefined : at,
    )
  }

  releasePermit(): void {
    this.breaker.release(this, undefined)
  }

  isOpen(): boolean {
    return this.breaker.currentState === 'open'
  }

  isClosed(): boolean {
    return this.breaker.currentState === 'closed'
  }
}
