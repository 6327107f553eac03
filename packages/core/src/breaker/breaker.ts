import { createCheapError, type HoldfastError } from '../errors.js'
import { formatInstance, INSPECT, type Inspect } from '../inspect.js'
import { Listeners } from '../listeners.js'
import type { BreakerCoordinator, RemoteBreakerState } from './coordinator.js'
import {
  BREAKER_DEFAULTS,
  type BreakerSettings,
  type CircuitBreakerOptions,
  createBreakerSettings,
} from './options.js'
import { type BreakerOutcome, CallPermit, type Permit, type PermitState } from './permit.js'
import { canProbe, probeLeaseFor } from './probe.js'
import { applyRemoteState, applySettings, openDurationFor } from './reconfigure.js'
import { adaptiveThreshold, appendOutcome } from './reliability.js'
import { type BreakerSnapshot, createSnapshot, parseSnapshot, restoreSnapshot } from './snapshot.js'
import type { BreakerEvent, BreakerState } from './state.js'
import { OutcomeWindow } from './window.js'

export type { BreakerEvent, BreakerState } from './state.js'

/**
 * Stands between callers and a target: closed while it works, open while it rests, half open while a few calls test
 * it. It has no timer; an open one whose time is up is tested by the next caller.
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
  /** What it is called in events and errors. */
  readonly id: string
  /** @internal */
  settings: BreakerSettings
  /** @internal */
  currentState: BreakerState = 'closed'
  /** @internal Switched off: it reads as closed, and nothing counts. */
  isDisabled = false
  /** @internal Grows with each change of state. A result counts only in the epoch that admitted its call. */
  epoch = 0
  /** @internal What it has seen while closed; made with the first result that matters. */
  window: OutcomeWindow | undefined = undefined
  /** @internal The failures that opened it. */
  failures = 0
  /** @internal When it may be tested. */
  openUntil = 0
  /** @internal The tests in flight, made with the first. */
  probePermits: PermitState[] | undefined = undefined
  /** @internal Successful tests. */
  probeSuccesses = 0
  /** @internal How often it opened without a long enough rest between. */
  consecutiveOpens = 0
  /** @internal How long it last stays or stayed open. */
  openDuration = 0
  /** @internal When it last closed. */
  closedAt = Number.NEGATIVE_INFINITY
  /** @internal The results behind an adaptive threshold. */
  recentOutcomes: string | undefined
  /** @internal Wall time of the last failure that counted. */
  lastFailureTime: number | undefined = undefined
  /** @internal Wall time of the last change of state. */
  lastStateChange: number | undefined = undefined
  /** @internal The way to others of the same name elsewhere; undefined for one that stands alone. */
  coordinator: BreakerCoordinator | undefined = undefined
  private listeners: Listeners<BreakerEvent> | undefined = undefined

  constructor(options?: CircuitBreakerOptions)
  /** @internal With settings that are checked already and shared with other breakers. */
  constructor(options: { id: string }, settings: BreakerSettings)
  constructor(options?: CircuitBreakerOptions, settings?: BreakerSettings) {
    this.settings = settings ?? (options === undefined ? BREAKER_DEFAULTS : createBreakerSettings(options))
    this.id = options?.id ?? ''
    this.recentOutcomes = this.settings.adaptive ? '' : undefined
  }

  /**
   * A breaker as it was when the snapshot was taken: a closed one with its window, an open one with what is left of its
   * time but never more than its options give it, a half-open one open with its time up.
   *
   * @throws INVALID_OPTIONS for a snapshot that is damaged
   */
  static restore(snapshot: BreakerSnapshot, options?: CircuitBreakerOptions): CircuitBreaker {
    return restored(snapshot, options)
  }

  /** Where it stands. */
  get state(): BreakerState {
    return this.currentState
  }

  /** The failures in its window; while it is not closed, those that opened it. */
  get failureCount(): number {
    return this.currentState === 'closed'
      ? (this.window?.countFailures(this.settings.clock.now()) ?? 0)
      : this.failures
  }

  /** When a caller may test it, in epoch milliseconds, be that past; undefined unless it is open. */
  get nextTestTime(): number | undefined {
    const { clock } = this.settings
    return this.currentState === 'open' ? clock.wall() + this.openUntil - clock.now() : undefined
  }

  /** Whether it is switched off. */
  get disabled(): boolean {
    return this.isDisabled
  }

  /**
   * Calls `fn` if the breaker lets it, and counts the result.
   *
   * @throws CIRCUIT_OPEN with `retryAfter` where it does not
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

  /** The leave to make one call, whose result must be told to it; undefined where the breaker refuses. */
  admit(): Permit | undefined {
    const permit = new CallPermit(this)
    return this.tryAcquire(permit, undefined) ? permit : undefined
  }

  /** Opens it now, whatever it has seen; where it is open, its time starts anew. Nothing while it is disabled. */
  trip(): void {
    if (this.currentState === 'open') {
      this.openDuration = openDurationFor(this.settings, this.consecutiveOpens) // its settings may have changed
      this.openUntil = this.settings.clock.now() + this.openDuration
      this.probeSuccesses = 0 // a restored one may have some
    } else if (!this.isDisabled) this.open(this.failureCount)
    if (!this.isDisabled) this.coordinator?.onCommand('trip')
  }

  /** Closes it now and forgets its window. Nothing while it is disabled. */
  reset(): void {
    if (this.isDisabled) return
    this.transitionTo('closed')
    this.coordinator?.onCommand('reset')
  }

  /** Switches it off: every call passes and nothing counts. */
  disable(): void {
    this.isDisabled = true
    this.transitionTo('closed')
    this.coordinator?.onCommand('disable')
  }

  /** Switches it on again, closed and with an empty window. Nothing where it is on. */
  enable(): void {
    if (!this.isDisabled) return
    this.isDisabled = false
    this.transitionTo('closed')
    this.coordinator?.onCommand('enable')
  }

  /** All of its state as plain data, for {@link CircuitBreaker.restore}. */
  snapshot(): BreakerSnapshot {
    return createSnapshot(this)
  }

  /** Tells `listener` of every change of state, until the function it returns is called. */
  on(listener: (event: BreakerEvent) => void): () => void {
    this.listeners ??= new Listeners('a circuit breaker')
    return this.listeners.add(listener)
  }

  /**
   * @internal Goes by other settings from now on, and stays where it is: an open one for no longer than they say, a closed
   * one with what its window holds, unless that is of another kind.
   */
  reconfigure(settings: BreakerSettings): void {
    applySettings(this, settings)
  }

  /** @internal Goes where others say that it stands; an open one stays so no longer than its settings allow. */
  applyRemoteState(remote: RemoteBreakerState): void {
    applyRemoteState(this, remote)
  }

  /** @internal A test may begin at that time, unless its link says otherwise by then. */
  scheduleProbe(probeAt: number): void {
    this.openUntil = probeAt
    this.probePermits = this.probePermits?.filter(({ epoch }) => epoch >= 0)
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    const { id, state, failureCount } = this
    return formatInstance('CircuitBreaker', { id, state, failureCount }, options, inspect)
  }

  /** @internal Lets a call through, or not. A test may hold its place as long as `lease`, counted from `now`. */
  tryAcquire(permit: PermitState, lease: number | undefined, now = this.settings.clock.now()): boolean {
    const { halfOpenMax } = this.settings
    if (this.currentState === 'closed') {
      permit.epoch = this.epoch
      permit.startedAt = now
      return true
    }
    if (this.currentState === 'open') {
      // A clock that went back does not make it stay open for longer.
      this.openUntil = Math.min(this.openUntil, now + this.openDuration)
      if (now < this.openUntil) {
        if (this.coordinator !== undefined) this.coordinator.isProbeWanted = true
        return false
      }
      if (!canProbe(this, lease, now)) return false
      this.transitionTo('half_open')
      if (this.state !== 'half_open') return this.tryAcquire(permit, lease, now) // a listener changed it again
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

  /** @internal Takes the result of a call, once; `endedAt` is when it ended, where that was not just now. */
  release(permit: PermitState, outcome: BreakerOutcome, endedAt?: number): void {
    const { slowCallDuration, clock } = this.settings
    const { epoch, startedAt, leaseEnd } = permit
    permit.epoch = -1
    if (epoch !== this.epoch) return
    if (this.currentState === 'half_open') {
      const probeIndex = this.probePermits?.indexOf(permit) ?? -1
      if (probeIndex < 0) return // its lease ended, and another took its place
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

  /** @internal Counts a result of this epoch. */
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
      // A target that answers too slowly has not recovered.
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
    if (this.window.recordResult(now, isFailure, isSlow, threshold)) this.open(this.window.countFailures(now))
  }

  /** @internal The error for a caller that was not admitted. */
  createOpenError(): HoldfastError {
    const { id, currentState, probePermits = [], settings } = this
    let { openUntil } = this
    if (currentState === 'half_open') openUntil = Math.min(...probePermits.map(({ leaseEnd }) => leaseEnd))
    const retryAfter = Math.max(0, openUntil - settings.clock.now())
    const message = `circuit breaker ${id && `${id} `}is ${currentState}; try again in ${Math.ceil(retryAfter)} ms`
    return createCheapError('CIRCUIT_OPEN', message, { retryAfter })
  }

  private open(failures: number): void {
    const { settings } = this
    const now = settings.clock.now()
    if (this.currentState === 'closed' && now - this.closedAt >= this.openDuration) this.consecutiveOpens = 0
    this.openDuration = openDurationFor(settings, ++this.consecutiveOpens)
    this.openUntil = now + this.openDuration
    this.failures = failures
    this.transitionTo('open')
  }

  /** @internal Ends the present epoch, and tells the listeners where that changes the state. */
  transitionTo(toState: BreakerState): void {
    const { currentState: fromState, settings, id } = this
    this.currentState = toState
    this.epoch++
    this.window = undefined
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

/** Outside the class: esbuild renames a class that refers to itself. */
function restored(snapshot: BreakerSnapshot, options: CircuitBreakerOptions | undefined): CircuitBreaker {
  const read = parseSnapshot(snapshot)
  return restoreSnapshot(new CircuitBreaker({ id: read.id, ...options }), read)
}
