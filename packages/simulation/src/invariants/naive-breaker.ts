import type { CircuitBreaker } from 'holdfast'

type Settings = CircuitBreaker['settings']
type State = CircuitBreaker['currentState']

/** A result in a rate window belongs to the first one of the same 256th of the window. */
const RATE_WINDOW_BUCKETS = 256

interface Outcome {
  time: number
  readonly isFailure: boolean
  readonly isSlow: boolean
}

/** A permit as the breaker gave it. */
export interface NaivePermit {
  readonly epoch: number
  readonly startedAt: number
  readonly leaseEnd: number
}

/** What a state of the fleet determines. */
export interface FleetState {
  readonly state: 'closed' | 'open'
  readonly left: number
  readonly openFor: number
  readonly openings: number
  readonly failures: number
  readonly off: boolean
  readonly tripFor?: number | undefined
}

/** A circuit breaker that is as simple as possible: it keeps every result, and computes everything from them. */
export class NaiveBreaker {
  state: State = 'closed'
  epoch = 0
  isDisabled = false
  /** The failures that opened it. */
  failures = 0
  openUntil = 0
  openDuration = 0
  tripDuration: number | undefined = undefined
  consecutiveOpens = 0
  closedAt = Number.NEGATIVE_INFINITY
  probeSuccesses = 0
  probes: object[] = []
  private outcomes: Outcome[] = []
  private readonly settings: () => Settings

  constructor(settings: () => Settings) {
    this.settings = settings
  }

  /** Takes over the state of a breaker that was restored, or that its coordinator has changed. */
  copyFrom(breaker: CircuitBreaker, now: number): void {
    const { currentState, epoch, isDisabled, failures, openUntil, openDuration, tripDuration } = breaker
    Object.assign(this, {
      state: currentState,
      epoch,
      isDisabled,
      failures,
      openUntil,
      openDuration,
      tripDuration,
    })
    this.consecutiveOpens = breaker.consecutiveOpens
    this.closedAt = breaker.closedAt
    this.probeSuccesses = breaker.probeSuccesses
    this.copyProbes(breaker)
    const entries = breaker.window?.toEntries(now, (time) => time) ?? []
    this.outcomes = []
    for (let i = 0; i < entries.length; i += 4) {
      const [time = 0, calls = 0, failed = 0, slow = 0] = entries.slice(i, i + 4)
      for (let call = 0; call < calls; call++)
        this.outcomes.push({ time, isFailure: call < failed, isSlow: call < slow })
    }
  }

  copyProbes({ openUntil, probePermits = [] }: CircuitBreaker): void {
    this.openUntil = openUntil
    this.probes = probePermits.filter(({ epoch }) => epoch >= 0)
  }

  /** The number of failures in the window, or of those that opened the breaker. */
  countFailures(now: number): number {
    return this.state === 'closed'
      ? this.current(now).filter(({ isFailure }) => isFailure).length
      : this.failures
  }

  /** A result that counts. */
  record(now: number, isFailure: boolean, isSlow: boolean): void {
    if (this.isDisabled) return
    const { successThreshold, failureThreshold, windowType, failureRate, slowCallRate, minimumCalls } =
      this.settings()
    if (this.state === 'half_open') {
      if (isFailure || isSlow) this.open(now, this.failures + 1)
      else if (++this.probeSuccesses >= successThreshold) this.change('closed', now)
      return
    }
    this.add(now, isFailure, isSlow)
    const current = this.current(now)
    const failures = current.filter((each) => each.isFailure).length
    const slow = current.filter((each) => each.isSlow).length
    const share = (count: number) => count / current.length
    const isReached =
      windowType === 'rate'
        ? current.length >= minimumCalls &&
          ((failureRate !== undefined && share(failures) >= failureRate) ||
            (slowCallRate !== undefined && share(slow) >= slowCallRate))
        : isFailure && failures >= failureThreshold
    if (isReached) this.open(now, failures)
  }

  /** The call of a permit has ended. Returns whether its outcome counts. */
  release(permit: object, { epoch, leaseEnd }: NaivePermit, endedAt: number): boolean {
    if (epoch !== this.epoch) return false
    if (this.state !== 'half_open') return true
    const isHeld = this.probes.includes(permit)
    this.probes = this.probes.filter((probe) => probe !== permit)
    return isHeld && endedAt <= leaseEnd
  }

  open(now: number, failures: number, tripDuration?: number): void {
    const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = this.settings()
    const hasRecovered = this.state === 'closed' && now - this.closedAt >= this.openDuration
    this.consecutiveOpens = hasRecovered ? 1 : this.consecutiveOpens + 1
    this.tripDuration = tripDuration
    this.openDuration =
      tripDuration ??
      Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** (this.consecutiveOpens - 1))
    this.openUntil = now + this.openDuration
    this.failures = failures
    this.change('open', now)
  }

  trip(now: number, tripDuration: number | undefined): void {
    if (this.isDisabled && this.state !== 'open') return
    if (this.state !== 'open') return this.open(now, this.countFailures(now), tripDuration)
    const { timeoutDuration, timeoutMultiplier, maxTimeoutDuration } = this.settings()
    const openings = Math.max(0, this.consecutiveOpens - 1)
    this.tripDuration = tripDuration
    this.openDuration =
      tripDuration ?? Math.min(maxTimeoutDuration, timeoutDuration * timeoutMultiplier ** openings)
    this.openUntil = now + this.openDuration
    this.probeSuccesses = 0
  }

  /** The fleet has changed the state. */
  apply(now: number, { state, left, openFor, openings, failures, off, tripFor = 0 }: FleetState): void {
    this.isDisabled = off
    if (off || state === 'closed') return this.change('closed', now)
    this.consecutiveOpens = openings
    this.tripDuration = tripFor > 0 ? tripFor : undefined
    this.openDuration = Math.min(openFor, this.tripDuration ?? this.settings().maxTimeoutDuration)
    this.openUntil = now + Math.min(left, this.openDuration)
    this.failures = failures
    this.change('open', now)
  }

  change(state: State, now: number): void {
    if (state === 'closed' && this.state !== 'closed') this.closedAt = now
    if (state === 'closed') this.failures = 0
    if (state !== 'half_open') this.probeSuccesses = 0
    if (state !== 'open') this.tripDuration = undefined
    this.state = state
    this.epoch++
    this.outcomes = []
    this.probes = []
  }

  private add(now: number, isFailure: boolean, isSlow: boolean): void {
    const { windowType, windowDuration } = this.settings()
    if (windowType === 'consecutive' && !isFailure) this.outcomes = []
    if (windowType !== 'rate' && !isFailure) return
    const last = windowType === 'rate' ? this.outcomes.at(-1) : undefined
    const isSameBucket = last !== undefined && now - last.time < windowDuration / RATE_WINDOW_BUCKETS
    this.outcomes.push({ time: isSameBucket ? last.time : now, isFailure, isSlow })
  }

  /** The results of the window. A result that is exactly as old as the window still counts. */
  private current(now: number): readonly Outcome[] {
    const { windowType, windowDuration, failureThreshold } = this.settings()
    if (windowType !== 'consecutive')
      this.outcomes = this.outcomes.filter(({ time }) => time >= now - windowDuration)
    // More failures than open the breaker are not kept.
    return windowType === 'rate' ? this.outcomes : this.outcomes.slice(-Math.max(2, failureThreshold))
  }
}
