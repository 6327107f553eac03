import { type BreakerEvent, CircuitBreaker } from '../breaker/breaker.js'
import type { BreakerNews } from '../breaker/link.js'
import type { BreakerSettings } from '../breaker/options.js'
import { type BreakerSnapshot, readSnapshot, restoreInto } from '../breaker/snapshot.js'
import { Window } from '../breaker/window.js'
import { type Growing, grown } from './indexes/grown.js'
import type { Roster } from './roster.js'

/** Whether the one failure of a slot is in its window, and whether it ever had one. */
const HELD = 1
const FAILED = 2

/** One part of a breaker's id. */
const part = encodeURIComponent

/** Told of a slot whose breaker has changed, with an event where its state has. */
type Hear = (slot: number, event: BreakerEvent | undefined) => void

/** A breaker that also tells when it is to stay open for longer or for less. */
class MemberBreaker extends CircuitBreaker {
  hear!: () => void

  override trip(): void {
    super.trip()
    this.hear()
  }

  override follow(news: BreakerNews): void {
    super.follow(news)
    this.hear()
  }

  override due(until: number): void {
    super.due(until)
    this.hear()
  }
}

/**
 * A breaker for each slot. Most members only ever succeed or fail once, and are a few numbers in columns until a second
 * failure comes, or somebody asks for the breaker itself.
 */
export class MemberBreakers implements Growing {
  /** Settings of members that have some of their own. */
  readonly own = new Map<number, BreakerSettings>()
  private readonly made: (MemberBreaker | undefined)[] = []
  private flags = new Uint8Array(0)
  private failedAt = new Float64Array(0)
  private failedWall = new Float64Array(0)
  private readonly unhear = new Map<number, () => void>()
  private readonly poolId: string
  private settings: BreakerSettings
  private readonly roster: Roster
  private readonly hear: Hear

  constructor(poolId: string, settings: BreakerSettings, roster: Roster, hear: Hear) {
    this.poolId = poolId
    this.settings = settings
    this.roster = roster
    this.hear = hear
  }

  settingsOf(slot: number): BreakerSettings {
    return this.own.size === 0 ? this.settings : (this.own.get(slot) ?? this.settings)
  }

  /** Goes by other settings from now on; members with settings of their own keep those. */
  reconfigure(settings: BreakerSettings): void {
    this.settings = settings
    for (const [slot, breaker] of this.made.entries())
      if (breaker !== undefined && !this.own.has(slot)) breaker.reconfigure(settings)
  }

  /** Goes by other settings for one slot, or by everybody's where it has none of its own any more. */
  revise(slot: number, own: BreakerSettings | undefined): void {
    if (own === undefined && !this.own.has(slot)) return
    if (own === undefined) this.own.delete(slot)
    else this.own.set(slot, own)
    this.made[slot]?.reconfigure(this.settingsOf(slot))
  }

  /** Puts the breaker of a slot where a snapshot's was. */
  resume(slot: number, snapshot: BreakerSnapshot): void {
    restoreInto(this.get(slot), readSnapshot(snapshot))
    this.hear(slot, undefined)
  }

  /** Every breaker that has been made. */
  all(): CircuitBreaker[] {
    return this.made.filter((breaker) => breaker !== undefined)
  }

  /** The breaker of a slot, where it has been made. */
  find(slot: number): CircuitBreaker | undefined {
    return this.made[slot]
  }

  /** The breaker of a slot that is to be used, where it needs one from the first call on. */
  forCall(slot: number): CircuitBreaker | undefined {
    const breaker = this.made[slot]
    if (breaker !== undefined) return breaker
    const { windowType, adaptive } = this.settingsOf(slot)
    return windowType === 'rate' || adaptive ? this.make(slot) : undefined
  }

  /** The breaker of a slot, made with what the columns know. */
  get(slot: number): CircuitBreaker {
    return this.made[slot] ?? this.make(slot)
  }

  /** A call that the slot's breaker would have let through succeeded, and there is no breaker yet. */
  succeeded(slot: number): void {
    if (this.settingsOf(slot).windowType === 'consecutive') (this.flags[slot] as number) &= ~HELD
  }

  /** Such a call failed. */
  failed(slot: number): void {
    const { failureThreshold, clock } = this.settingsOf(slot)
    if (failureThreshold === 1 || this.holds(slot)) {
      this.make(slot).result(true, false)
      return
    }
    this.flags[slot] = HELD | FAILED
    this.failedAt[slot] = clock.now()
    this.failedWall[slot] = clock.wall()
  }

  /** Whether a failure is in the window of a slot without a breaker. */
  private holds(slot: number): boolean {
    const { windowType, windowDuration, clock } = this.settingsOf(slot)
    if (((this.flags[slot] as number) & HELD) === 0) return false
    return windowType === 'consecutive' || (this.failedAt[slot] as number) >= clock.now() - windowDuration
  }

  /** The log of the window of a slot without a breaker. */
  heldLog(slot: number): number[] {
    return this.holds(slot) ? [this.failedAt[slot] as number, 1, 1, 0] : []
  }

  lastFailure(slot: number): number | undefined {
    return ((this.flags[slot] as number) & FAILED) === 0 ? undefined : this.failedWall[slot]
  }

  /** Takes the failure of a slot without a breaker back: there was none in its window before. */
  takeBack(slot: number, lastFailure: number | undefined): void {
    this.flags[slot] = lastFailure === undefined ? 0 : FAILED
    this.failedWall[slot] = lastFailure ?? 0
  }

  forget(slot: number): void {
    this.unhear.get(slot)?.()
    this.unhear.delete(slot)
    this.made[slot] = undefined
    this.own.delete(slot)
    this.flags[slot] = 0
  }

  grow(capacity: number): void {
    this.flags = grown(this.flags, capacity)
    this.failedAt = grown(this.failedAt, capacity)
    this.failedWall = grown(this.failedWall, capacity)
    while (this.made.length < capacity) this.made.push(undefined)
  }

  private make(slot: number): CircuitBreaker {
    const settings = this.settingsOf(slot)
    const id = `pool:${part(this.poolId)}:${part(this.roster.member(slot).id)}`
    const breaker = new MemberBreaker({ id }, settings)
    breaker.lastFailureTime = this.lastFailure(slot)
    breaker.window = Window.of(settings, this.heldLog(slot))
    this.made[slot] = breaker
    const hear = (event?: BreakerEvent) => this.hear(slot, event)
    breaker.hear = hear
    this.unhear.set(slot, breaker.on(hear))
    return breaker
  }
}
