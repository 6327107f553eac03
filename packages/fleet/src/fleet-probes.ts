import { DAY_MS } from '@holdfast/records'
import type { CircuitBreaker } from 'holdfast'
import type { BreakerOutcome, PermitState } from 'holdfast/internal'
import { EXTEND_PROBE, GRANT_PROBE, type RedisScript, SETTLE_PROBE } from './lua/scripts.js'
import { currentOpenState } from './open-state.js'
import type { FleetBreakerState } from './replies.js'
import { setUnrefTimer } from './unref-timer.js'

/**
 * How long a granted probe permit waits for a caller. Where callers come less often, the wait is twice the time between two of them,
 * because otherwise each caller would be rejected while a permit is requested, and none would ever probe. Redis deletes the state
 * of the breaker after a day.
 */
const MIN_PERMIT_HOLD_MS = 1000
const MAX_PERMIT_HOLD_MS = DAY_MS / 2
/** A permit is requested this long before the open duration ends, so that the first caller afterwards does not have to wait. */
const REQUEST_AHEAD_MS = 150
/** When a caller should come back while a permit is being requested, and the longest wait before the next request. */
const RETRY_SOON_MS = 20
const MAX_RETRY_MS = 1000

/** The shared breaker whose probes are coordinated. */
interface ProbedBreaker {
  readonly breaker: CircuitBreaker
  /** The last epoch of the fleet that this node knows. */
  epoch: number
  /** Whether the breaker decides together with other nodes. */
  readonly isShared: boolean
  /** Whether the breaker is open or half open in the fleet. */
  readonly isFleetOpen: boolean
  /** Whether a caller was rejected because it may not probe yet. */
  isProbeWanted: boolean
  applyRemote(view: FleetBreakerState): void
  /** Runs a script. The reply is undefined if Redis is not available. */
  request(
    script: RedisScript,
    args: readonly (string | number)[],
    onReply: (view: FleetBreakerState | undefined) => void,
  ): void
  /** Runs a script, and applies the state in its reply after `then`. */
  runAndApply(script: RedisScript, args: (string | number)[], then?: (view: FleetBreakerState) => void): void
}

/** A probe permit that Redis has granted to this node. */
interface ProbeLease {
  readonly token: string
  readonly requestedAt: number
  readonly from: number
  readonly ends: number
}

/** Requests permits for probes from the fleet, which grants as many as one breaker would, and reports their outcomes. */
export class FleetProbes {
  private readonly owner: ProbedBreaker
  private lease: ProbeLease | undefined = undefined
  private isRequesting = false
  private waitUntil = 0
  /** When the last permit was requested that no caller has used, while the fleet's breaker is open. */
  private unusedRequestAt: number | undefined = undefined
  private holdMs = MIN_PERMIT_HOLD_MS
  private readonly tokenByPermit = new WeakMap<PermitState, string>()
  private endingToken: string | undefined = undefined
  private requestTimer: unknown = undefined

  constructor(owner: ProbedBreaker) {
    this.owner = owner
  }

  /** When a probe that is due is allowed. Requests a permit if there is none. */
  probeAllowedAt(now: number): number {
    const { owner, lease } = this
    if (!owner.isShared || !owner.isFleetOpen) return now
    if (lease !== undefined && now < lease.ends) return Math.max(now, lease.from)
    if (now < this.waitUntil) return this.waitUntil
    this.requestPermit()
    return now + RETRY_SOON_MS
  }

  onStarted(permit: PermitState, duration: number): void {
    const { owner, lease } = this
    if (lease === undefined || !owner.isShared || !owner.isFleetOpen) return
    this.lease = undefined
    this.tokenByPermit.set(permit, lease.token)
    owner.runAndApply(EXTEND_PROBE, [lease.token, Math.ceil(duration)], (view) => {
      // The lease has expired and another node may have been granted a probe, so the outcome of this one is not used.
      if (view.gone && view.epoch === owner.epoch && owner.breaker.currentState === 'half_open')
        this.revertToOpen(view)
    })
  }

  onEnded(permit: PermitState, outcome: BreakerOutcome): void {
    const token = this.tokenByPermit.get(permit)
    this.tokenByPermit.delete(permit)
    if (token === undefined) return
    if (outcome === undefined) this.reportOutcome(token, 'nothing')
    else this.endingToken = token
  }

  /** Reports the result of the probe that ended last; false if it had no permit of the fleet. */
  reportResult(isFailure: boolean): boolean {
    const { endingToken } = this
    this.endingToken = undefined
    if (endingToken === undefined) return false
    this.reportOutcome(endingToken, isFailure ? 'failure' : 'success')
    return true
  }

  /** Does not use a granted permit, because an operator has changed the state. */
  dropLease(): void {
    this.lease = undefined
  }

  /** Another node has published a state. If it is half open in the known epoch, this node need not wait longer. */
  onFleetState({ epoch, state }: FleetBreakerState): void {
    if (epoch === this.owner.epoch && state === 'half_open' && this.waitUntil > 0) this.probeNow()
  }

  /** A new state of the fleet was applied. `left` is how long its breaker stays open. */
  onStateApplied(left: number): void {
    const { owner } = this
    const { clock } = owner.breaker.settings
    clock.clearTimer(this.requestTimer)
    owner.isProbeWanted = false
    if (!owner.isFleetOpen) {
      this.unusedRequestAt = undefined
      this.holdMs = MIN_PERMIT_HOLD_MS
      return
    }
    const wait = Math.max(0, left - REQUEST_AHEAD_MS)
    this.requestTimer = setUnrefTimer(clock, () => void (owner.isProbeWanted && this.requestPermit()), wait)
  }

  /** Forgets the permit and the wait of an earlier epoch. */
  reset(): void {
    this.lease = undefined
    this.waitUntil = 0
  }

  /** Returns a permit that waits for a caller, so that other nodes need not wait for its end. */
  close(): void {
    this.owner.breaker.settings.clock.clearTimer(this.requestTimer)
    if (this.lease !== undefined) this.returnUnused(this.lease)
  }

  private requestPermit(): void {
    const { owner } = this
    const { breaker } = owner
    if (this.isRequesting || !owner.isShared || !owner.isFleetOpen || this.lease !== undefined) return
    const { clock, halfOpenMax } = breaker.settings
    const requestedAt = clock.now()
    const interval = requestedAt - (this.unusedRequestAt ?? requestedAt)
    const holdMs = Math.min(MAX_PERMIT_HOLD_MS, Math.max(this.holdMs, Math.ceil(2 * interval)))
    this.holdMs = holdMs
    this.isRequesting = true
    const onReply = (view: FleetBreakerState | undefined) => {
      this.isRequesting = false
      const now = clock.now()
      if (view === undefined || !owner.isFleetOpen) return this.probeNow()
      if (view.state === 'closed' || (view.token === undefined && view.wait === undefined))
        return owner.applyRemote(view)
      if (view.epoch < owner.epoch) return
      owner.epoch = view.epoch
      if (view.token !== undefined) {
        const from = now + (view.early ?? 0)
        const lease = { token: view.token, requestedAt, from, ends: requestedAt + (view.early ?? 0) + holdMs }
        this.lease = lease
        this.waitUntil = 0
        if (breaker.currentState !== 'closed') breaker.scheduleProbe(from)
        setUnrefTimer(clock, () => this.returnUnused(lease), lease.ends - now)
        return
      }
      this.waitUntil = now + Math.min(MAX_RETRY_MS, view.wait ?? 0)
      if (breaker.currentState !== 'closed') breaker.scheduleProbe(this.waitUntil)
    }
    owner.request(GRANT_PROBE, [halfOpenMax, holdMs, REQUEST_AHEAD_MS], onReply)
  }

  /** Returns a permit that no caller has used in time. */
  private returnUnused(lease: ProbeLease): void {
    if (this.lease !== lease) return
    this.lease = undefined
    this.unusedRequestAt = lease.requestedAt
    this.reportOutcome(lease.token, 'nothing')
  }

  private probeNow(): void {
    const { breaker, isFleetOpen } = this.owner
    const now = breaker.settings.clock.now()
    this.waitUntil = 0
    if (breaker.currentState !== 'closed' && breaker.openUntil > now && isFleetOpen)
      breaker.scheduleProbe(now)
  }

  private revertToOpen(view: FleetBreakerState): void {
    this.owner.breaker.applyRemoteState({ ...view, state: 'open', left: 0 })
  }

  private reportOutcome(token: string, outcome: 'success' | 'failure' | 'nothing'): void {
    const { owner } = this
    const { breaker } = owner
    const args = [token, outcome, breaker.settings.successThreshold, ...currentOpenState(breaker)]
    owner.runAndApply(SETTLE_PROBE, args, (view) => {
      // The lease has expired: the outcome does not count for the fleet, which is still probing.
      const isStillProbing = view.gone && view.epoch === owner.epoch && owner.isFleetOpen
      if (isStillProbing && breaker.currentState === 'closed') this.revertToOpen(view)
    })
  }
}
