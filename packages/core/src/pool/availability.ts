import type { CircuitBreaker } from '../breaker/breaker.js'
import type { Clock } from '../clock.js'
import { Ejections } from './ejections.js'
import { growArray, type SlotIndexed } from './indexes/grow-array.js'
import { TimeHeap } from './indexes/time-heap.js'
import type { MemberBreakers } from './members/member-breakers.js'
import type { SlotTable } from './members/slot-table.js'
import type { SelectionStrategy } from './strategies/strategy.js'

/** Where a slot stands: it has a member that is not drained, and is in the strategy's index. */
const ENABLED = 1
const INDEXED = 2

/** A time that has passed, whatever the clock says. */
const ALWAYS_PAST = Number.NEGATIVE_INFINITY

/** How a member stands: drained, at rest, or as its breaker is; `available` is a closed one, or one that is spared. */
export type MemberStatus = 'available' | 'open' | 'half_open' | 'resting' | 'drained'

/** How many may be out, and how time passes. */
export interface AvailabilityOptions {
  readonly maxEjected: number | undefined
  readonly panicThreshold: number | undefined
  readonly clock: Clock
}

/**
 * Who may be chosen. A slot that is out for a time has an entry among those that are due; whatever happens to a member, or
 * when its time has come, it is looked at anew.
 */
export class Availability implements SlotIndexed {
  /** How many may be chosen, and how many are not drained. */
  available = 0
  enabled = 0
  private flags = new Uint8Array(0)
  /** The earliest entry of each slot among those that are due. */
  private queuedAt = new Float64Array(0)
  private readonly dueSlots = new TimeHeap()
  private readonly cooldowns = new Map<number, number>()
  private ejections: Ejections
  private readonly slotTable: SlotTable
  private readonly breakers: MemberBreakers
  private strategy: SelectionStrategy
  private panicStrategy: SelectionStrategy | undefined
  private readonly panicThreshold: number
  private readonly clock: Clock

  constructor(
    roster: SlotTable,
    breakers: MemberBreakers,
    makeStrategy: () => SelectionStrategy,
    limits: AvailabilityOptions,
  ) {
    const { maxEjected, panicThreshold = 0, clock } = limits
    this.slotTable = roster
    this.breakers = breakers
    this.ejections = new Ejections(maxEjected)
    this.strategy = roster.register(makeStrategy())
    this.panicStrategy = panicThreshold > 0 ? roster.register(makeStrategy()) : undefined
    this.panicThreshold = panicThreshold
    this.clock = clock
  }

  /** Where so few are available that the choice is among all. */
  private get isPanicking(): boolean {
    return this.available < this.panicThreshold * this.enabled
  }

  /** A member has come. */
  addSlot(slot: number): void {
    this.strategy.addSlot?.(slot)
    this.panicStrategy?.addSlot?.(slot)
    this.enable(slot)
  }

  /** A member goes. */
  removeSlot(slot: number): void {
    this.drain(slot)
    this.cooldowns.delete(slot)
    this.strategy.removeSlot?.(slot)
    this.panicStrategy?.removeSlot?.(slot)
  }

  /** Lets something about a member change that strategies go by. What keeps it from being chosen stays. */
  updateMember(slot: number, change: () => void): void {
    this.deindex(slot)
    change()
    this.index(slot)
  }

  /** Goes by another strategy, and by another share of members that may be out. */
  updateStrategy(makeStrategy: () => SelectionStrategy, maxEjected: number | undefined): void {
    const { slotTable, panicStrategy } = this
    slotTable.unregister(this.strategy)
    slotTable.unregister(panicStrategy)
    this.strategy = slotTable.register(makeStrategy())
    this.panicStrategy = panicStrategy === undefined ? undefined : slotTable.register(makeStrategy())
    this.ejections = new Ejections(maxEjected)
    for (const slot of slotTable.usedSlots()) this.index(slot)
    for (const slot of slotTable.usedSlots()) this.onBreakerChanged(slot)
  }

  /** Takes a member out until it is enabled; tells whether that is new. */
  drain(slot: number): boolean {
    if (!this.isEnabled(slot)) return false
    ;(this.flags[slot] as number) ^= ENABLED
    this.enabled--
    this.panicStrategy?.markUnavailable(slot)
    this.refresh(slot)
    this.updateEjection(slot, false)
    return true
  }

  /** Takes a member in again; tells whether it was out. */
  enable(slot: number): boolean {
    if (this.isEnabled(slot)) return false
    ;(this.flags[slot] as number) ^= ENABLED
    this.enabled++
    this.panicStrategy?.markAvailable(slot)
    this.updateEjection(slot, this.isOpen(slot))
    this.refresh(slot)
    return true
  }

  /** Leaves a member alone until a time; tells whether that is later than it would have been. */
  startCooldown(slot: number, until: number): boolean {
    if (until <= this.cooldownUntil(slot)) return false
    this.cooldowns.set(slot, until)
    this.refresh(slot)
    return true
  }

  /** Ends the rest of a member; tells whether it had one. */
  endCooldown(slot: number): boolean {
    const wasCoolingDown = this.cooldownUntil(slot) > this.clock.now()
    this.cooldowns.delete(slot)
    this.refresh(slot)
    return wasCoolingDown
  }

  /** Until when a member rests; a time that has passed where it does not. */
  cooldownUntil(slot: number): number {
    return this.cooldowns.get(slot) ?? ALWAYS_PAST
  }

  /** The breaker of a slot has changed. */
  onBreakerChanged(slot: number): void {
    if (this.isEnabled(slot)) this.updateEjection(slot, this.isOpen(slot))
    this.refresh(slot)
  }

  /** Chooses a slot, of those not in `tried` where there are such; -1 where nobody is available. */
  chooseSlot(tried: readonly number[], context: unknown, now: number): number {
    while (this.dueSlots.earliest <= now) this.refreshEarliest()
    const strategy = this.panicStrategy !== undefined && this.isPanicking ? this.panicStrategy : this.strategy
    const slot = strategy.chooseSlot(tried, context, now)
    return slot >= 0 || tried.length === 0 ? slot : strategy.chooseSlot([], context, now)
  }

  /** Whether somebody may be chosen who is not in `tried`. */
  hasUntriedMember(tried: readonly number[], now: number): boolean {
    while (this.dueSlots.earliest <= now) this.refreshEarliest()
    const [hasSlot, flag] =
      this.panicStrategy !== undefined && this.isPanicking
        ? [this.enabled, ENABLED]
        : [this.available, INDEXED]
    return hasSlot > tried.filter((slot) => ((this.flags[slot] as number) & flag) !== 0).length
  }

  /** Whether a choice stands though the slot's breaker refuses: in a panic, or beyond the share that may be out. */
  ignoresBreaker(slot: number): boolean {
    return this.ejections.isExempt(slot) || this.isPanicking
  }

  /** A slot was chosen once more. */
  onSelected(slot: number): void {
    this.slotTable.counters.countSelection(slot)
    this.strategy.onSelected?.(slot)
    this.panicStrategy?.onSelected?.(slot)
  }

  /** When somebody may be available again; Infinity where nobody will be by waiting. */
  nextAvailableAt(now: number): number {
    while (this.available === 0) {
      const { earliest } = this.dueSlots
      // An entry may be out of date. It is right where its slot is still out until then.
      if (earliest === Infinity || this.queuedAt[this.refreshEarliest()] === earliest) return earliest
    }
    return now
  }

  status(slot: number): MemberStatus {
    if (!this.isEnabled(slot)) return 'drained'
    if ((this.cooldowns.get(slot) ?? 0) > this.clock.now()) return 'resting'
    // A breaker whose time is up is open until somebody tests it; one that is spared lets everybody through.
    const state = this.ejections.isExempt(slot) ? 'closed' : this.breakers.find(slot)?.state
    return state === undefined || state === 'closed' ? 'available' : state
  }

  grow(capacity: number): void {
    this.flags = growArray(this.flags, capacity)
    this.queuedAt = growArray(this.queuedAt, capacity, Infinity)
  }

  /** Looks whether a slot may be chosen, and lists it or not. */
  refresh(slot: number): void {
    const flags = this.flags[slot] as number
    const now = this.clock.now()
    const until = this.isEnabled(slot) ? this.unavailableUntil(slot, now) : Infinity
    const isOut = until > now
    const isIndexed = (flags & INDEXED) !== 0
    if (isOut === isIndexed) {
      this.flags[slot] = flags ^ INDEXED
      this.available += isIndexed ? -1 : 1
      if (isIndexed) this.strategy.markUnavailable(slot)
      else this.strategy.markAvailable(slot)
    }
    if (isOut && until < (this.queuedAt[slot] as number)) {
      this.queuedAt[slot] = until
      this.dueSlots.push(until, slot)
    }
  }

  /** Tells the strategies of a slot, as it stands. */
  private index(slot: number): void {
    const { strategy, panicStrategy } = this
    strategy.addSlot?.(slot)
    panicStrategy?.addSlot?.(slot)
    if (((this.flags[slot] as number) & INDEXED) !== 0) strategy.markAvailable(slot)
    if (this.isEnabled(slot)) panicStrategy?.markAvailable(slot)
  }

  /** Lets the strategies forget a slot. */
  private deindex(slot: number): void {
    const { strategy, panicStrategy } = this
    if (((this.flags[slot] as number) & INDEXED) !== 0) strategy.markUnavailable(slot)
    if (this.isEnabled(slot)) panicStrategy?.markUnavailable(slot)
    strategy.removeSlot?.(slot)
    panicStrategy?.removeSlot?.(slot)
  }

  /** Looks at the slot whose time comes first. */
  private refreshEarliest(): number {
    const slot = this.dueSlots.pop()
    this.queuedAt[slot] = Infinity
    this.refresh(slot)
    return slot
  }

  /** Until when a slot that is not drained is out; a time that has passed where it is not. */
  private unavailableUntil(slot: number, now: number): number {
    const cooldownEnd = this.cooldowns.get(slot)
    if (cooldownEnd !== undefined) {
      if (cooldownEnd > now) return cooldownEnd
      this.cooldowns.delete(slot)
    }
    const breaker = this.breakers.find(slot)
    if (breaker === undefined || breaker.currentState === 'closed' || this.ejections.isExempt(slot))
      return ALWAYS_PAST
    return breaker.currentState === 'open' ? breaker.openUntil : probesFullUntil(breaker, now)
  }

  private isEnabled(slot: number): boolean {
    return ((this.flags[slot] as number) & ENABLED) !== 0
  }

  private isOpen(slot: number): boolean {
    return (this.breakers.find(slot)?.currentState ?? 'closed') !== 'closed'
  }

  /** Keeps account of who is set aside; there may be room for one that was spared, or none for one that was not. */
  private updateEjection(slot: number, isOpen: boolean): void {
    if (!this.ejections.hasLimit) return
    for (const other of this.ejections.update(slot, isOpen, this.enabled)) this.refresh(other)
  }
}

/** Until when all places for tests at a half-open breaker are taken. */
function probesFullUntil({ probePermits = [], settings }: CircuitBreaker, now: number): number {
  const ends = probePermits.map(({ leaseEnd }) => leaseEnd).filter((end) => end > now)
  return ends.length < settings.halfOpenMax ? ALWAYS_PAST : Math.min(...ends)
}
