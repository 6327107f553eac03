import { type BreakerEvent, CircuitBreaker } from '../../breaker/breaker.js'
import type { RemoteBreakerState } from '../../breaker/coordinator.js'
import type { BreakerSettings } from '../../breaker/options.js'
import { type BreakerSnapshot, parseSnapshot, restoreSnapshot } from '../../breaker/snapshot.js'
import { OutcomeWindow } from '../../breaker/window.js'
import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import type { SlotTable } from './slot-table.js'

/** Whether the one failure of a slot is in its window, and whether it ever had one. */
const IN_WINDOW = 1
const EVER_FAILED = 2

/** One part of a breaker's id. */
const encodeIdPart = encodeURIComponent

/** Told of a slot whose breaker has changed, with an event where its state has. */
type BreakerChangeHandler = (slot: number, event: BreakerEvent | undefined) => void

/** A breaker that also tells when it is to stay open for longer or for less. */
class MemberBreaker extends CircuitBreaker {
  onChange!: () => void

  override trip(): void {
    super.trip()
    this.onChange()
  }

  override applyRemoteState(news: RemoteBreakerState): void {
    super.applyRemoteState(news)
    this.onChange()
  }

  override scheduleProbe(until: number): void {
    super.scheduleProbe(until)
    this.onChange()
  }
}

/**
 * A breaker for each slot. Most members only ever succeed or fail once, and are a few numbers in columns until a second
 * failure comes, or somebody asks for the breaker itself.
 */
export class MemberBreakers implements SlotIndexed {
  /** Settings of members that have some of their own. */
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

  constructor(poolId: string, settings: BreakerSettings, roster: SlotTable, hear: BreakerChangeHandler) {
    this.poolId = poolId
    this.settings = settings
    this.slotTable = roster
    this.onChange = hear
  }

  settingsOf(slot: number): BreakerSettings {
    return this.memberSettings.size === 0 ? this.settings : (this.memberSettings.get(slot) ?? this.settings)
  }

  /** Goes by other settings from now on; members with settings of their own keep those. */
  reconfigure(settings: BreakerSettings): void {
    this.settings = settings
    for (const [slot, breaker] of this.breakers.entries())
      if (breaker !== undefined && !this.memberSettings.has(slot)) breaker.reconfigure(settings)
  }

  /** Goes by other settings for one slot, or by everybody's where it has none of its own any more. */
  updateSettings(slot: number, own: BreakerSettings | undefined): void {
    if (own === undefined && !this.memberSettings.has(slot)) return
    if (own === undefined) this.memberSettings.delete(slot)
    else this.memberSettings.set(slot, own)
    this.breakers[slot]?.reconfigure(this.settingsOf(slot))
  }

  /** Puts the breaker of a slot where a snapshot's was. */
  restore(slot: number, snapshot: BreakerSnapshot): void {
    restoreSnapshot(this.get(slot), parseSnapshot(snapshot))
    this.onChange(slot, undefined)
  }

  /** Every breaker that has been made. */
  all(): CircuitBreaker[] {
    return this.breakers.filter((breaker) => breaker !== undefined)
  }

  /** The breaker of a slot, where it has been made. */
  find(slot: number): CircuitBreaker | undefined {
    return this.breakers[slot]
  }

  /** The breaker of a slot that is to be used, where it needs one from the first call on. */
  forCall(slot: number): CircuitBreaker | undefined {
    const breaker = this.breakers[slot]
    if (breaker !== undefined) return breaker
    const { windowType, adaptive } = this.settingsOf(slot)
    return windowType === 'rate' || adaptive ? this.createBreaker(slot) : undefined
  }

  /** The breaker of a slot, made with what the columns know. */
  get(slot: number): CircuitBreaker {
    return this.breakers[slot] ?? this.createBreaker(slot)
  }

  /** A call that the slot's breaker would have let through succeeded, and there is no breaker yet. */
  recordSuccess(slot: number): void {
    if (this.settingsOf(slot).windowType === 'consecutive') (this.flags[slot] as number) &= ~IN_WINDOW
  }

  /** Such a call failed. */
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

  /** Whether a failure is in the window of a slot without a breaker. */
  private hasFailureInWindow(slot: number): boolean {
    const { windowType, windowDuration, clock } = this.settingsOf(slot)
    if (((this.flags[slot] as number) & IN_WINDOW) === 0) return false
    return windowType === 'consecutive' || (this.failedAt[slot] as number) >= clock.now() - windowDuration
  }

  /** The log of the window of a slot without a breaker. */
  windowEntries(slot: number): number[] {
    return this.hasFailureInWindow(slot) ? [this.failedAt[slot] as number, 1, 1, 0] : []
  }

  lastFailure(slot: number): number | undefined {
    return ((this.flags[slot] as number) & EVER_FAILED) === 0 ? undefined : this.failedWall[slot]
  }

  /** Takes the failure of a slot without a breaker back: there was none in its window before. */
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
