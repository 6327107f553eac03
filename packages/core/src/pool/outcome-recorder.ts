import type { BreakerEvent } from '../breaker/breaker.js'
import { isCountedFailure } from '../breaker/counted-failure.js'
import type { BreakerOutcome } from '../breaker/permit.js'
import type { Availability } from './availability.js'
import type { PoolCoordinator } from './coordinator.js'
import type { PoolEvent } from './events.js'
import { isRateLimit, MemberFaults, outcomeStatus } from './member-faults.js'
import type { MemberBreakers } from './members/member-breakers.js'
import type { MemberStats } from './members/member-counters.js'
import type { SelectionOutcome } from './members/member-pool.js'
import type { SlotSelection } from './members/slot-selection.js'
import type { SlotTable } from './members/slot-table.js'
import { LocalFaultRollback } from './network/local-fault-rollback.js'
import { isLocalFault, provesNetworkUp } from './network/local-faults.js'
import { NetworkHealth } from './network/network-health.js'
import type { PoolSettings } from './options.js'
import { LatencyAverages } from './scores/latency-averages.js'
import { ScoreWindow } from './scores/score-window.js'

/** Records the outcome of an attempt for its member, for suspected members of the same call, and for the network. */
export class OutcomeRecorder<T> {
  latencyAverages: LatencyAverages | undefined = undefined
  scores: ScoreWindow | undefined = undefined
  availability!: Availability
  /** Sends cooldowns to the same pool on other nodes; undefined without a fleet. */
  coordinator: PoolCoordinator | undefined = undefined
  private readonly network: NetworkHealth
  private readonly localFaults: LocalFaultRollback
  private memberFaults!: MemberFaults<T>
  private readonly settings: PoolSettings<T>
  private readonly slotTable: SlotTable<T>
  private readonly breakers: MemberBreakers
  private readonly emit: (event: PoolEvent) => void
  /** The slot whose breaker is receiving a result, so that an opening can be attributed to it; -1 otherwise. */
  private recordingSlot = -1

  constructor(
    settings: PoolSettings<T>,
    slotTable: SlotTable<T>,
    breakers: MemberBreakers,
    emit: (event: PoolEvent) => void,
  ) {
    const { breaker } = settings
    this.settings = settings
    this.slotTable = slotTable
    this.breakers = breakers
    this.emit = emit
    this.network = slotTable.register(new NetworkHealth(breaker.windowDuration))
    this.localFaults = new LocalFaultRollback(slotTable, breakers)
    this.updateStrategy()
  }

  /** Applies the current settings: keeps the measurements that the strategy uses and deletes the others. */
  updateStrategy(): void {
    const { settings, slotTable } = this
    const { strategy } = settings
    const [usesLatency, usesScore] = [strategy === 'least_latency', strategy === 'score']
    if (!usesLatency) slotTable.unregister(this.latencyAverages)
    if (!usesScore) slotTable.unregister(this.scores)
    this.latencyAverages = usesLatency
      ? (this.latencyAverages ?? slotTable.register(new LatencyAverages()))
      : undefined
    this.scores = usesScore ? (this.scores ?? slotTable.register(new ScoreWindow())) : undefined
    this.memberFaults = new MemberFaults(settings)
  }

  /** Records the outcome of an attempt, once. Returns whether the member and not the request caused it. */
  recordOutcome(
    selection: SlotSelection<T>,
    outcome: SelectionOutcome,
    selections: readonly SlotSelection<T>[],
  ): boolean {
    if (selection.progress !== 'running') return false
    const { classification, duration } = outcome
    const status = outcomeStatus(outcome)
    const isRateLimited = isRateLimit(classification, status)
    const isMemberFault = this.memberFaults.includes(selection.member, outcome, status)
    const breakerOutcome = isRateLimited ? undefined : this.breakerOutcomeOf(selection.slot, outcome)
    const isSuspected = isMemberFault && !isRateLimited && breakerOutcome !== 'failure'
    const hasAnswered =
      !isSuspected &&
      !isRateLimited &&
      breakerOutcome !== 'failure' &&
      (!outcome.hasThrown || status !== undefined)
    selection.progress = isSuspected ? 'suspected' : hasAnswered ? 'answered' : 'settled'
    selection.duration = duration
    const isLocal = isLocalFault(outcome)
    const finalOutcome = this.updateNetwork(
      selection,
      outcome,
      isSuspected ? undefined : breakerOutcome,
      isLocal,
    )
    // A listener can remove the member during each of these steps, so the selection is checked before each.
    if (this.isCurrent(selection)) this.recordBreakerResult(selection, finalOutcome, outcome.endedAt)
    if (this.isCurrent(selection)) this.recordAttempt(selection, finalOutcome, isLocal)
    if (isRateLimited && this.isCurrent(selection)) this.onRateLimited(selection, classification?.retryAfter)
    if (selections.length > 1) this.resolveSuspects(selection, selections)
    return isMemberFault
  }

  /** Whether the network is down. Marks it as up when the window has passed without another fault. */
  isNetworkDown(now: number): boolean {
    if (this.network.hasExpired(now)) this.onNetworkUp()
    return this.network.isDown
  }

  /** Whether an attempt can start: the network is up, or the attempt is the next probe of it. */
  isCallAllowed(now: number): boolean {
    return !this.isNetworkDown(now) || this.network.tryProbe(now)
  }

  /** The milliseconds until the next probe of the network. */
  timeUntilProbe(now: number): number {
    return this.network.timeUntilProbe(now)
  }

  /** Counts an opening of the breaker of a slot. */
  onBreakerChanged(slot: number, { toState }: BreakerEvent): void {
    if (toState !== 'open') return
    this.slotTable.counters.addOpens(slot, 1)
    if (slot === this.recordingSlot) this.localFaults.recordOpening(slot, this.breakers.get(slot).epoch)
  }

  statsOf(slot: number, id: string): MemberStats {
    const { slotTable, latencyAverages, scores } = this
    const latency = latencyAverages?.mean(slot)
    return {
      ...slotTable.counters.stats(slot, id),
      ...(scores === undefined ? undefined : { score: scores.score(slot, scores.maxLatency) }),
      ...(latency === undefined ? undefined : { latency }),
    }
  }

  /** Starts a cooldown of a member; returns false if the current one ends later. */
  startCooldown(slot: number, retryAfter: number): boolean {
    const { clock } = this.settings
    if (!(retryAfter > 0) || !this.availability.startCooldown(slot, clock.now() + retryAfter)) return false
    const memberId = this.slotTable.member(slot).id
    this.emit({ type: 'member_changed', change: 'rested', memberId, timestamp: clock.wall(), retryAfter })
    return true
  }

  clear(slot: number): void {
    this.slotTable.counters.clear(slot)
    this.latencyAverages?.clear(slot)
    this.scores?.clear(slot)
    this.network.clear(slot)
  }

  /** Whether the selected member is still in the pool. */
  private isCurrent({ slot, generation }: SlotSelection<T>): boolean {
    return generation === this.slotTable.generation(slot)
  }

  /** The outcome for the breaker of the member, which can have its own `failureOn`. */
  private breakerOutcomeOf(
    slot: number,
    { hasThrown, result, classification, breakerOutcome }: SelectionOutcome,
  ): BreakerOutcome {
    const settings = this.breakers.settingsOf(slot)
    if (settings.matchesFailureOn === undefined || classification === undefined) return breakerOutcome
    if (classification.kind === 'cancelled') return breakerOutcome
    const isFailure =
      (hasThrown || classification.httpStatus !== undefined) &&
      isCountedFailure(settings, result, classification)
    return isFailure ? 'failure' : hasThrown ? undefined : 'success'
  }

  /** Records the outcome in the breaker of the member, or in its substitute while no breaker has been created. */
  private recordBreakerResult(
    selection: SlotSelection<T>,
    outcome: BreakerOutcome,
    endedAt: number | undefined,
  ): void {
    const { breakers, availability } = this
    const { slot } = selection
    if (selection.admittedEpoch < 0) return
    const breaker = breakers.find(slot)
    this.recordingSlot = slot
    if (breaker !== undefined) {
      breaker.release(selection, outcome, endedAt)
      if (breaker.currentState !== 'closed') availability.refresh(slot)
    } else if (outcome === 'failure') breakers.recordFailure(slot)
    else if (outcome === 'success') breakers.recordSuccess(slot)
    this.recordingSlot = -1
  }

  private recordAttempt(
    { slot, selectedAt, duration }: SlotSelection<T>,
    outcome: BreakerOutcome,
    isLocal: boolean,
  ): void {
    const isFailure = outcome === undefined ? undefined : outcome === 'failure'
    this.slotTable.counters.countAttempt(slot, isFailure, duration)
    // A local fault can still be rolled back; until that is decided it must not affect the selection.
    if (isFailure !== undefined && !isLocal)
      this.recordLatency(slot, isFailure, duration, selectedAt + duration)
  }

  private recordLatency(slot: number, isFailure: boolean, duration: number, now: number): void {
    this.latencyAverages?.add(slot, isFailure, duration, now)
    this.scores?.add(slot, isFailure, duration)
  }

  /** Updates the network health by an outcome. Returns the outcome that counts for the member. */
  private updateNetwork(
    selection: SlotSelection<T>,
    outcome: SelectionOutcome,
    breakerOutcome: BreakerOutcome,
    isLocal: boolean,
  ): BreakerOutcome {
    const { network, localFaults, settings } = this
    const { slot, selectedAt, duration } = selection
    const isCurrent = this.isCurrent(selection)
    if (isLocal)
      return isCurrent && this.recordLocalFault(selection, breakerOutcome) ? undefined : breakerOutcome
    if (isCurrent && outcome.breakerOutcome !== undefined) network.recordUse(slot, selectedAt + duration)
    if (!network.hasSuspects && !network.isDown) return breakerOutcome
    if (provesNetworkUp(outcome)) this.onNetworkUp()
    else if (isCurrent && breakerOutcome === 'failure')
      localFaults.recordOtherFailure(slot, settings.clock.now())
    return breakerOutcome
  }

  /** Records a local fault. Returns whether the network is down, so that the fault does not count against the member. */
  private recordLocalFault({ slot, duration }: SlotSelection<T>, outcome: BreakerOutcome): boolean {
    const { network, localFaults, settings, availability } = this
    const now = settings.clock.now()
    const since = now - settings.breaker.windowDuration
    const wasDown = network.isDown
    const isDown = network.recordFault(slot, now)
    if (!isDown && outcome === 'failure') localFaults.recordFault(slot, duration, now, since)
    if (isDown && !wasDown) {
      for (const other of localFaults.rollBack(since)) availability.onBreakerChanged(other)
      this.emit({ type: 'network_changed', down: isDown, timestamp: settings.clock.wall() })
    }
    return isDown
  }

  private onNetworkUp(): void {
    const { network, localFaults, settings } = this
    const { isDown } = network
    const { clock } = settings
    network.markUp()
    localFaults.confirmFaults((slot, duration) => this.recordLatency(slot, true, duration, clock.now()))
    if (isDown) this.emit({ type: 'network_changed', down: false, timestamp: clock.wall() })
  }

  /** Starts the cooldown that a member has requested, or one of the open duration of its breaker. */
  private onRateLimited({ slot, member }: SlotSelection<T>, requestedDelay: number | undefined): void {
    const retryAfter = requestedDelay ?? this.breakers.settingsOf(slot).timeoutDuration
    if (this.startCooldown(slot, retryAfter)) this.coordinator?.onCooldownStarted(member.id, retryAfter)
  }

  /** Counts the failures of suspected members when another member has answered the same call. */
  private resolveSuspects(selection: SlotSelection<T>, selections: readonly SlotSelection<T>[]): void {
    const { slot, progress } = selection
    for (const other of selections) {
      if (other.slot === slot && other.generation === selection.generation) continue
      if (progress === 'answered' && other.progress === 'suspected') this.recordDeferredFailure(other)
      else if (progress === 'suspected' && other.progress === 'answered') {
        this.recordDeferredFailure(selection)
        return
      }
    }
  }

  private recordDeferredFailure(selection: SlotSelection<T>): void {
    const { breakers, availability, settings } = this
    const { slot, admittedEpoch, duration } = selection
    selection.progress = 'settled'
    if (!this.isCurrent(selection)) return
    this.slotTable.counters.addFailures(slot, 1)
    this.recordLatency(slot, true, duration, settings.clock.now())
    const breaker = breakers.find(slot)
    if (breaker === undefined) breakers.recordFailure(slot)
    else if (breaker.epoch === admittedEpoch) {
      breaker.recordResult(true, false)
      availability.refresh(slot)
    }
  }
}
