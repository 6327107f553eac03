import { createCheapError, type HoldfastError } from '../errors.js'
import { makeInspectable } from '../inspect.js'
import { Listeners } from '../listeners.js'
import { isInstanceOfAnyCopy } from '../shared-registry.js'
import type { BreakerCoordinator, RemoteBreakerState } from './coordinator.js'
import {
  BREAKER_DEFAULTS,
  type BreakerSettings,
  type CircuitBreakerOptions,
  createBreakerSettings,
} from './options.js'
import { type BreakerOutcome, CallPermit, type Permit, type PermitState } from './permit.js'
import { canProbe, probeLeaseFor } from './probe.js'
import { applyRemoteState, applySettings, maxOpenDuration } from './reconfigure.js'
import { adaptiveThreshold, appendOutcome } from './reliability.js'
import { type BreakerSnapshot, createSnapshot, parseSnapshot, restoreSnapshot } from './snapshot.js'
import type { BreakerEvent, BreakerState } from './state.js'
import { parseTripDuration, type TripOptions } from './trip.js'
import { OutcomeWindow } from './window.js'

export type { BreakerEvent, BreakerState } from './state.js'
export type { TripOptions } from './trip.js'

/** Grows with each change of the methods that a guard calls. */
const BREAKER_VERSION = 1

/**
 * A circuit breaker: closed while its target works, open while calls are rejected, half open while a few probes find out
 * whether the target has recovered. It has no timer: once the open duration has passed, the next call becomes a probe.
 *
 * @example
 * ```ts
 * import { CircuitBreaker } from 'holdfast'
 *
 * const breaker = new CircuitBreaker({ id: 'mail', failureThreshold: 2 })
 * await breaker.run(async () => 'sent') // => 'sent'
 * breaker.admit()?.failure()
 * breaker.admit()?.failure()
 * breaker.state // => 'open'
 * await breaker.run(async () => 'sent') // throws CIRCUIT_OPEN
 * ```
 */
export class CircuitBreaker {
  /** The breaker's name in events and errors. */
  readonly id: string
  /** @internal */
  settings: BreakerSettings
  /** @internal */
  currentState: BreakerState = 'closed'
  /** @internal A disabled breaker is closed and counts nothing. */
  isDisabled = false
  /** @internal Grows with each state change. A result counts only in the epoch that admitted its call. */
  epoch = 0
  /** @internal The results while closed; created with the first result that must be kept. */
  window: OutcomeWindow | undefined = undefined
  /** @internal The number of failures that opened the breaker. */
  failures = 0
  /** @internal When the first probe is admitted. */
  openUntil = 0
  /** @internal The permits of running probes; created with the first. */
  probePermits: PermitState[] | undefined = undefined
  /** @internal The number of successful probes. */
  probeSuccesses = 0
  /** @internal How often the breaker opened in a row, without staying closed for as long as it was open. */
  consecutiveOpens = 0
  /** @internal The current or last open duration. */
  openDuration = 0
  /** @internal The duration for which an operator tripped the breaker; undefined if the settings determine it. */
  tripDuration: number | undefined = undefined
  /** @internal When the breaker last closed. */
  closedAt = -Infinity
  /** @internal The results that an adaptive threshold is computed from. */
  recentOutcomes: string | undefined
  /** @internal Wall time of the last counted failure. */
  lastFailureTime: number | undefined = undefined
  /** @internal Wall time of the last state change. */
  lastStateChange: number | undefined = undefined
  /** @internal Connects the breaker with those of the same name on other nodes; undefined for a local breaker. */
  coordinator: BreakerCoordinator | undefined = undefined
  private listeners: Listeners<BreakerEvent> | undefined = undefined

  /** @internal The version of the methods that a guard calls, which can be that of another copy of this package. */
  get breakerVersion(): number {
    return BREAKER_VERSION
  }

  /** Makes `instanceof` true for breakers of another copy of the package, such as its CommonJS form. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'breakerVersion', value)
  }

  constructor(options?: CircuitBreakerOptions)
  /** @internal With checked settings that are shared with other breakers. */
  constructor(options: { id: string }, settings: BreakerSettings)
  constructor(options?: CircuitBreakerOptions, settings?: BreakerSettings) {
    this.settings = settings ?? (options === undefined ? BREAKER_DEFAULTS : createBreakerSettings(options))
    this.id = options?.id ?? ''
    this.recentOutcomes = this.settings.adaptive ? '' : undefined
    makeInspectable(this, 'CircuitBreaker', breakerFacts)
  }

  /**
   * Creates a breaker from a snapshot: a closed one with its window, an open one with the rest of its open duration but never
   * more than its options allow, a half-open one as open with its open duration over.
   *
   * @throws INVALID_OPTIONS for a snapshot that is not valid
   */
  static restore(snapshot: BreakerSnapshot, options?: CircuitBreakerOptions): CircuitBreaker {
    return restoreBreaker(snapshot, options)
  }

  /** The current state. */
  get state(): BreakerState {
    return this.currentState
  }

  /** The number of failures in the window; while the breaker is not closed, of those that opened it. */
  get failureCount(): number {
    return this.currentState === 'closed'
      ? (this.window?.countFailures(this.settings.clock.now()) ?? 0)
      : this.failures
  }

  /** When the next probe is admitted, in epoch milliseconds, which can be in the past; undefined unless the breaker is open. */
  get nextTestTime(): number | undefined {
    const { clock } = this.settings
    return this.currentState === 'open' ? clock.wall() + this.openUntil - clock.now() : undefined
  }

  /** Whether the breaker is disabled. */
  get disabled(): boolean {
    return this.isDisabled
  }

  /**
   * Calls `fn` and counts the result, unless the breaker rejects the call.
   *
   * @throws CIRCUIT_OPEN with `retryAfter` if the breaker rejects the call
   */
  async run<T>(fn: () => T | PromiseLike<T>): Promise<T> {
    const permit = this.admit()
    if (permit === undefined) throw this.createOpenError()
    try {
      const value = await fn()
      permit.success()
      return value
    } catch (error) {
      permit.failure(error)
      throw error
    }
  }

  /** Acquires a permit for one call, whose outcome must be recorded on it; undefined if the breaker rejects the call. */
  admit(): Permit | undefined {
    const permit = new CallPermit(this)
    return this.tryAcquire(permit, undefined) ? permit : undefined
  }

  /**
   * Opens the breaker now; if it is open, its open duration starts again. With a `duration` it stays open for that time,
   * else for the open duration of its settings; Infinity is until {@link CircuitBreaker.reset}, at most 365 days. Then the next call
   * becomes a probe. Does nothing while the breaker is disabled.
   *
   * @throws INVALID_OPTIONS for a duration that is not above 0
   */
  trip(options?: TripOptions): void {
    const tripDuration = parseTripDuration(options)
    if (this.currentState === 'open') {
      this.tripDuration = tripDuration
      this.openDuration = maxOpenDuration(this) // the settings can have changed
      this.openUntil = this.settings.clock.now() + this.openDuration
      this.probeSuccesses = 0 // a restored breaker can have some
    } else if (!this.isDisabled) this.open(this.failureCount, tripDuration)
    if (!this.isDisabled) this.coordinator?.onCommand('trip')
  }

  /** Closes the breaker now and clears its window. Does nothing while the breaker is disabled. */
  reset(): void {
    if (this.isDisabled) return
    this.transitionTo('closed')
    this.coordinator?.onCommand('reset')
  }

  /** Disables the breaker: every call is admitted and nothing is counted. */
  disable(): void {
    this.isDisabled = true
    this.transitionTo('closed')
    this.coordinator?.onCommand('disable')
  }

  /** Enables a disabled breaker, closed and with an empty window. Does nothing if it is enabled. */
  enable(): void {
    if (!this.isDisabled) return
    this.isDisabled = false
    this.transitionTo('closed')
    this.coordinator?.onCommand('enable')
  }

  /** Returns the state as plain data, for {@link CircuitBreaker.restore}. */
  snapshot(): BreakerSnapshot {
    return createSnapshot(this)
  }

  /** Calls `listener` with every state change. Returns the function that removes the listener. */
  on(listener: (event: BreakerEvent) => void): () => void {
    this.listeners ??= new Listeners('a circuit breaker')
    return this.listeners.add(listener)
  }

  /**
   * @internal Applies other settings and keeps the state: an open breaker stays open no longer than they allow, a closed one
   * keeps the contents of its window unless the window type changed.
   */
  reconfigure(settings: BreakerSettings): void {
    applySettings(this, settings)
  }

  /** @internal Applies the state of the fleet; an open breaker stays open no longer than its settings allow. */
  applyRemoteState(remote: RemoteBreakerState): void {
    applyRemoteState(this, remote)
  }

  /** @internal Allows a probe from that time on, unless the coordinator changes it before. */
  scheduleProbe(probeAt: number): void {
    this.openUntil = probeAt
    this.probePermits = this.probePermits?.filter(({ epoch }) => epoch >= 0)
  }

  /** @internal Whether a call is admitted. A probe holds its permit for at most `lease`, counted from `now`. */
  tryAcquire(permit: PermitState, lease: number | undefined, now = this.settings.clock.now()): boolean {
    const { halfOpenMax } = this.settings
    if (this.currentState === 'closed') {
      permit.epoch = this.epoch
      permit.startedAt = now
      return true
    }
    if (this.currentState === 'open') {
      // A clock that was set back does not extend the open duration.
      this.openUntil = Math.min(this.openUntil, now + this.openDuration)
      if (now < this.openUntil) {
        if (this.coordinator !== undefined) this.coordinator.isProbeWanted = true
        return false
      }
      if (!canProbe(this, lease, now)) return false
      this.transitionTo('half_open')
      // A listener can have changed the state again.
      if (this.state !== 'half_open') return this.tryAcquire(permit, lease, now)
    }
    const probes =
      this.probePermits?.filter(({ leaseEnd, startedAt }) => leaseEnd > now && startedAt <= now) ?? []
    this.probePermits = probes
    if (probes.length >= halfOpenMax || !canProbe(this, lease, now)) return false
    const leaseDuration = probeLeaseFor(this.settings, lease)
    permit.epoch = this.epoch
    permit.startedAt = now
    permit.leaseEnd = now + leaseDuration
    probes.push(permit)
    this.coordinator?.onProbeStarted(permit, leaseDuration)
    return true
  }

  /** @internal Releases a permit once, with the outcome of its call. `endedAt` is when the call ended, by default now. */
  release(permit: PermitState, outcome: BreakerOutcome, endedAt?: number): void {
    const { slowCallDuration, clock } = this.settings
    const { epoch, startedAt, leaseEnd } = permit
    permit.epoch = -1
    if (epoch !== this.epoch) return
    if (this.currentState === 'half_open') {
      const probeIndex = this.probePermits?.indexOf(permit) ?? -1
      if (probeIndex < 0) return // its lease ended and another probe took its place
      this.probePermits?.splice(probeIndex, 1)
      const isLate = (endedAt ?? clock.now()) > leaseEnd
      this.coordinator?.onProbeEnded(permit, isLate ? undefined : outcome)
      if (isLate) return
    }
    if (outcome !== undefined)
      this.recordResult(
        outcome === 'failure',
        slowCallDuration !== undefined && clock.now() - startedAt >= slowCallDuration,
      )
  }

  /** @internal Counts a result of the current epoch. */
  recordResult(isFailure: boolean, isSlow: boolean): void {
    if (this.isDisabled) return
    const { currentState, coordinator } = this
    this.countResult(isFailure, isSlow)
    coordinator?.onResult(currentState, isFailure || (isSlow && currentState === 'half_open'))
  }

  private countResult(isFailure: boolean, isSlow: boolean): void {
    const { settings } = this
    const { failureThreshold, clock } = settings
    if (this.recentOutcomes !== undefined)
      this.recentOutcomes = appendOutcome(this.recentOutcomes, !isFailure)
    if (isFailure) this.lastFailureTime = clock.wall()
    if (this.currentState === 'half_open') {
      // A target that responds too slowly has not recovered.
      if (isFailure || isSlow) this.open(this.failures + 1)
      else if (++this.probeSuccesses >= settings.successThreshold) this.transitionTo('closed')
      return
    }
    if (this.window === undefined) {
      if (!isFailure && settings.windowType !== 'rate') return
      this.window = new OutcomeWindow(settings)
    }
    const now = clock.now()
    const threshold =
      this.recentOutcomes === undefined
        ? failureThreshold
        : adaptiveThreshold(this.recentOutcomes, failureThreshold)
    if (this.window.recordOutcome(now, isFailure, isSlow, threshold))
      this.open(this.window.countFailures(now))
  }

  /** @internal The error for a caller that was not admitted. */
  createOpenError(): HoldfastError {
    const { id, currentState, probePermits = [], settings } = this
    let { openUntil } = this
    if (currentState === 'half_open') openUntil = Math.min(...probePermits.map(({ leaseEnd }) => leaseEnd))
    const retryAfter = Math.max(0, openUntil - settings.clock.now())
    const message = `circuit breaker ${id && `${id} `}is ${currentState}; retry in ${Math.ceil(retryAfter)} ms`
    return createCheapError('CIRCUIT_OPEN', message, { retryAfter })
  }

  private open(failures: number, tripDuration?: number): void {
    const { settings } = this
    const now = settings.clock.now()
    if (this.currentState === 'closed' && now - this.closedAt >= this.openDuration) this.consecutiveOpens = 0
    this.consecutiveOpens++
    this.tripDuration = tripDuration
    this.openDuration = maxOpenDuration(this)
    this.openUntil = now + this.openDuration
    this.failures = failures
    this.transitionTo('open')
  }

  /** @internal Begins a new epoch, and notifies the listeners where the state changes. */
  transitionTo(toState: BreakerState): void {
    const { currentState: fromState, settings, id } = this
    this.currentState = toState
    this.epoch++
    this.window = undefined
    if (toState !== 'open') this.tripDuration = undefined
    if (toState === 'closed') {
      if (fromState !== 'closed') this.closedAt = settings.clock.now()
      this.failures = 0
      this.probeSuccesses = 0
    } else if (toState === 'open') this.probeSuccesses = 0
    this.probePermits = undefined
    if (fromState === toState) return
    const timestamp = settings.clock.wall()
    this.lastStateChange = timestamp
    this.listeners?.emit({ id, fromState, toState, timestamp, failureCount: this.failures })
  }
}

const breakerFacts = ({ id, state, failureCount }: CircuitBreaker) => ({ id, state, failureCount })

/** Outside the class, because esbuild renames a class that refers to itself. */
function restoreBreaker(
  snapshot: BreakerSnapshot,
  options: CircuitBreakerOptions | undefined,
): CircuitBreaker {
  const parsed = parseSnapshot(snapshot)
  return restoreSnapshot(new CircuitBreaker({ id: parsed.id, ...options }), parsed)
}
