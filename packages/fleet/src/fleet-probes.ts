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
/** The longest lease of a permit that waits for a caller. Its node renews the lease, so the permit of a killed node ends soon. */
const PERMIT_LEASE_MS = 10_000
/** A lease is renewed this long before its end. */
const RENEW_AHEAD_MS = PERMIT_LEASE_MS / 2
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
  /** From when a caller can use the permit. */
  readonly from: number
  /** How long the permit waits for a caller, and when that wait ends. */
  readonly holdMs: number
  readonly heldUntil: number
  /** When the lease ends unless it is renewed. */
  ends: number
}

/** Requests permits for probes from the fleet, which grants as many as one breaker would, and reports their outcomes. */
export class FleetProbes {
  private readonly owner: ProbedBreaker
  private lease: ProbeLease | undefined = undefined
  private isRequesting = false
  private waitUntil = 0
  /** When a permit was last requested while the fleet's breaker is open. */
  private lastRequestAt: number | undefined = undefined
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
      this.lastRequestAt = undefined
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
    const interval = requestedAt - (this.lastRequestAt ?? requestedAt)
    const holdMs = Math.min(MAX_PERMIT_HOLD_MS, Math.max(this.holdMs, Math.ceil(2 * interval)))
    const leaseMs = Math.min(holdMs, PERMIT_LEASE_MS)
    this.lastRequestAt = requestedAt
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
        const { token, early = 0 } = view
        const from = now + early
        const grantedAt = requestedAt + early
        this.lease = { token, from, holdMs, heldUntil: grantedAt + holdMs, ends: grantedAt + leaseMs }
        this.waitUntil = 0
        if (breaker.currentState !== 'closed') breaker.scheduleProbe(from)
        return this.waitForCaller(this.lease)
      }
      this.waitUntil = now + Math.min(MAX_RETRY_MS, view.wait ?? 0)
      if (breaker.currentState !== 'closed') breaker.scheduleProbe(this.waitUntil)
    }
    owner.request(GRANT_PROBE, [halfOpenMax, leaseMs, REQUEST_AHEAD_MS, holdMs], onReply)
  }

  /** Renews a permit that waits for a caller before its lease ends, and returns it at the end of the wait. */
  private waitForCaller(lease: ProbeLease): void {
    const { clock } = this.owner.breaker.settings
    const isLast = lease.ends >= lease.heldUntil
    const wait = (isLast ? lease.ends : lease.ends - RENEW_AHEAD_MS) - clock.now()
    setUnrefTimer(clock, () => (isLast ? this.returnUnused(lease) : this.renew(lease)), wait)
  }

  private renew(lease: ProbeLease): void {
    const { owner } = this
    const { clock } = owner.breaker.settings
    if (this.lease !== lease) return
    const renewedAt = clock.now()
    const leaseMs = Math.min(PERMIT_LEASE_MS, lease.heldUntil - renewedAt)
    owner.request(EXTEND_PROBE, [lease.token, Math.ceil(leaseMs), lease.holdMs], (view) => {
      if (this.lease !== lease) return
      if (view === undefined)
        return setUnrefTimer(clock, () => this.returnUnused(lease), lease.ends - clock.now())
      if (view.gone) {
        this.lease = undefined
        return owner.applyRemote(view)
      }
      // A node whose calls are closer together can probe sooner.
      if (view.wanted) return this.returnUnused(lease)
      lease.ends = renewedAt + leaseMs
      this.waitForCaller(lease)
    })
  }

  /** Returns a permit that no caller has used in time. */
  private returnUnused(lease: ProbeLease): void {
    if (this.lease !== lease) return
    this.lease = undefined
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
      // Successes without Redis count for this node only, and an outcome after the end of its lease does not count at all: the node
      // must not close while the fleet is still probing.
      const isStillProbing = view.state !== 'closed' && view.epoch === owner.epoch && owner.isFleetOpen
      if (isStillProbing && breaker.currentState === 'closed') this.revertToOpen(view)
    })
  }
}
