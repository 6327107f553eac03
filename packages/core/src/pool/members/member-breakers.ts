import { type BreakerEvent, CircuitBreaker, type TripOptions } from '../../breaker/breaker.js'
import type { RemoteBreakerState } from '../../breaker/coordinator.js'
import type { BreakerSettings } from '../../breaker/options.js'
import { type BreakerSnapshot, parseSnapshot, restoreSnapshot } from '../../breaker/snapshot.js'
import { OutcomeWindow } from '../../breaker/window.js'
import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import type { SlotTable } from './slot-table.js'

/** Flags of a slot without a breaker: its only failure may still be in the window; it has failed before. */
const IN_WINDOW = 1
const EVER_FAILED = 2

/** Encodes one part of a breaker id, whose separator is a colon. */
const encodeIdPart = encodeURIComponent

/** Called with a slot whose breaker has changed, and with an event if its state has. */
type BreakerChangeHandler = (slot: number, event: BreakerEvent | undefined) => void

/** A breaker that also reports a change of its open duration. */
class MemberBreaker extends CircuitBreaker {
  onChange!: () => void

  override trip(options?: TripOptions): void {
    super.trip(options)
    this.onChange()
  }

  override applyRemoteState(remote: RemoteBreakerState): void {
    super.applyRemoteState(remote)
    this.onChange()
  }

  override scheduleProbe(until: number): void {
    super.scheduleProbe(until)
    this.onChange()
  }
}

/**
 * The breaker of each slot. Most members never fail more than once. Their state is a few numbers in typed arrays, and the
 * breaker is created at the second failure or when the breaker itself is requested.
 */
export class MemberBreakers implements SlotIndexed {
  /** The settings of members that override those of the pool, by slot. */
  readonly memberSettings = new Map<number, BreakerSettings>()
  private readonly breakers: (MemberBreaker | undefined)[] = []
  private flags = new Uint8Array(0)
  private failedAt = new Float64Array(0)
  private failedWall = new Float64Array(0)
  private readonly unsubscribers = new Map<number, () => void>()
  private readonly poolId: string
  private settings: BreakerSettings
  private readonly slotTable: SlotTable
  private readonly onChange: BreakerChangeHandler

  constructor(
    poolId: string,
    settings: BreakerSettings,
    slotTable: SlotTable,
    onChange: BreakerChangeHandler,
  ) {
    this.poolId = poolId
    this.settings = settings
    this.slotTable = slotTable
    this.onChange = onChange
  }

  settingsOf(slot: number): BreakerSettings {
    return this.memberSettings.size === 0 ? this.settings : (this.memberSettings.get(slot) ?? this.settings)
  }

  /** Replaces the settings of the pool; members with their own settings keep them. */
  reconfigure(settings: BreakerSettings): void {
    this.settings = settings
    for (const [slot, breaker] of this.breakers.entries())
      if (breaker !== undefined && !this.memberSettings.has(slot)) breaker.reconfigure(settings)
  }

  /** Replaces the settings of one slot; undefined restores those of the pool. */
  updateSettings(slot: number, settings: BreakerSettings | undefined): void {
    if (settings === undefined && !this.memberSettings.has(slot)) return
    if (settings === undefined) this.memberSettings.delete(slot)
    else this.memberSettings.set(slot, settings)
    this.breakers[slot]?.reconfigure(this.settingsOf(slot))
  }

  /** Restores the breaker of a slot from a snapshot. */
  restore(slot: number, snapshot: BreakerSnapshot): void {
    restoreSnapshot(this.get(slot), parseSnapshot(snapshot))
    this.onChange(slot, undefined)
  }

  /** Every breaker that has been created. */
  all(): CircuitBreaker[] {
    return this.breakers.filter((breaker) => breaker !== undefined)
  }

  /** The breaker of a slot, if it has been created. */
  find(slot: number): CircuitBreaker | undefined {
    return this.breakers[slot]
  }

  /** The breaker of a slot for a call. Some settings need every outcome: with these it is created at the first call. */
  forCall(slot: number): CircuitBreaker | undefined {
    const breaker = this.breakers[slot]
    if (breaker !== undefined) return breaker
    const { windowType, adaptive } = this.settingsOf(slot)
    return windowType === 'rate' || adaptive ? this.createBreaker(slot) : undefined
  }

  /** The breaker of a slot, created if necessary. */
  get(slot: number): CircuitBreaker {
    return this.breakers[slot] ?? this.createBreaker(slot)
  }

  /** Records the success of a call on a slot without a breaker. */
  recordSuccess(slot: number): void {
    if (this.settingsOf(slot).windowType === 'consecutive') (this.flags[slot] as number) &= ~IN_WINDOW
  }

  /** Records the failure of a call on a slot without a breaker. */
  recordFailure(slot: number): void {
    const { failureThreshold, clock } = this.settingsOf(slot)
    if (failureThreshold === 1 || this.hasFailureInWindow(slot)) {
      this.createBreaker(slot).recordResult(true, false)
      return
    }
    this.flags[slot] = IN_WINDOW | EVER_FAILED
    this.failedAt[slot] = clock.now()
    this.failedWall[slot] = clock.wall()
  }

  /** Whether the failure of a slot without a breaker is in the window. */
  private hasFailureInWindow(slot: number): boolean {
    const { windowType, windowDuration, clock } = this.settingsOf(slot)
    if (((this.flags[slot] as number) & IN_WINDOW) === 0) return false
    return windowType === 'consecutive' || (this.failedAt[slot] as number) >= clock.now() - windowDuration
  }

  /** The window of a slot without a breaker, in the entry format of {@link OutcomeWindow}. */
  windowEntries(slot: number): number[] {
    return this.hasFailureInWindow(slot) ? [this.failedAt[slot] as number, 1, 1, 0] : []
  }

  lastFailure(slot: number): number | undefined {
    return ((this.flags[slot] as number) & EVER_FAILED) === 0 ? undefined : this.failedWall[slot]
  }

  /** Rolls back the failure of a slot without a breaker. Its window was empty before, or there would be a breaker now. */
  rollBackFailure(slot: number, lastFailure: number | undefined): void {
    this.flags[slot] = lastFailure === undefined ? 0 : EVER_FAILED
    this.failedWall[slot] = lastFailure ?? 0
  }

  clear(slot: number): void {
    this.unsubscribers.get(slot)?.()
    this.unsubscribers.delete(slot)
    this.breakers[slot] = undefined
    this.memberSettings.delete(slot)
    this.flags[slot] = 0
  }

  grow(capacity: number): void {
    this.flags = growArray(this.flags, capacity)
    this.failedAt = growArray(this.failedAt, capacity)
    this.failedWall = growArray(this.failedWall, capacity)
    while (this.breakers.length < capacity) this.breakers.push(undefined)
  }

  private createBreaker(slot: number): CircuitBreaker {
    const settings = this.settingsOf(slot)
    const id = `pool:${encodeIdPart(this.poolId)}:${encodeIdPart(this.slotTable.member(slot).id)}`
    const breaker = new MemberBreaker({ id }, settings)
    breaker.lastFailureTime = this.lastFailure(slot)
    breaker.window = OutcomeWindow.fromEntries(settings, this.windowEntries(slot))
    this.breakers[slot] = breaker
    const notify = (event?: BreakerEvent) => this.onChange(slot, event)
    breaker.onChange = notify
    this.unsubscribers.set(slot, breaker.on(notify))
    return breaker
  }
}
