import type { CircuitBreaker } from '../breaker/breaker.js'
import type { Clock } from '../clock.js'
import { Ejections } from './ejections.js'
import { growArray, type SlotIndexed } from './indexes/grow-array.js'
import { TimeHeap } from './indexes/time-heap.js'
import type { MemberBreakers } from './members/member-breakers.js'
import type { SlotTable } from './members/slot-table.js'
import type { SelectionStrategy } from './strategies/strategy.js'

/** Flags of a slot: it has a member that is not drained; it is in the index of the strategy. */
const ENABLED = 1
const INDEXED = 2

/** A time before every reading of any clock. */
const ALWAYS_PAST = Number.NEGATIVE_INFINITY

/**
 * The status of a member: drained, in a cooldown (`resting`), or the state of its breaker. `available` means that the breaker
 * is closed or exempt by `maxEjected`.
 */
export type MemberStatus = 'available' | 'open' | 'half_open' | 'resting' | 'drained'

/** The settings of a pool that decide about availability. */
export interface AvailabilityOptions {
  readonly maxEjected: number | undefined
  readonly panicThreshold: number | undefined
  readonly clock: Clock
}

/**
 * Knows which slots can be selected, and keeps the indexes of the strategies up to date. A slot that is unavailable until a
 * known time is queued for that time; it is evaluated again when the time has come or its member or breaker changes.
 */
export class Availability implements SlotIndexed {
  /** The number of slots that can be selected, and of those that are not drained. */
  availableCount = 0
  enabledCount = 0
  private flags = new Uint8Array(0)
  /** The earliest time for which each slot is queued; Infinity for a slot that is not queued. */
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
    slotTable: SlotTable,
    breakers: MemberBreakers,
    createStrategy: () => SelectionStrategy,
    options: AvailabilityOptions,
  ) {
    const { maxEjected, panicThreshold = 0, clock } = options
    this.slotTable = slotTable
    this.breakers = breakers
    this.ejections = new Ejections(maxEjected)
    this.strategy = slotTable.register(createStrategy())
    this.panicStrategy = panicThreshold > 0 ? slotTable.register(createStrategy()) : undefined
    this.panicThreshold = panicThreshold
    this.clock = clock
  }

  /** Whether so few members are available that the selection is among all enabled ones (panic mode). */
  private get isPanicking(): boolean {
    return this.availableCount < this.panicThreshold * this.enabledCount
  }

  /** Adds the slot of a new member, enabled. */
  addSlot(slot: number): void {
    this.strategy.addSlot?.(slot)
    this.panicStrategy?.addSlot?.(slot)
    this.enable(slot)
  }

  /** Removes the slot of a member that leaves the pool. */
  removeSlot(slot: number): void {
    this.drain(slot)
    this.cooldowns.delete(slot)
    this.strategy.removeSlot?.(slot)
    this.panicStrategy?.removeSlot?.(slot)
  }

  /** Applies a change of a member's properties, such as its weight, to the strategies. Its availability does not change. */
  updateMember(slot: number, change: () => void): void {
    this.deindex(slot)
    change()
    this.index(slot)
  }

  /** Replaces the strategy and the limit of ejected members. */
  updateStrategy(createStrategy: () => SelectionStrategy, maxEjected: number | undefined): void {
    const { slotTable, panicStrategy } = this
    slotTable.unregister(this.strategy)
    slotTable.unregister(panicStrategy)
    this.strategy = slotTable.register(createStrategy())
    this.panicStrategy = panicStrategy === undefined ? undefined : slotTable.register(createStrategy())
    this.ejections = new Ejections(maxEjected)
    for (const slot of slotTable.usedSlots()) this.index(slot)
    for (const slot of slotTable.usedSlots()) this.onBreakerChanged(slot)
  }

  /** Makes a member unavailable until it is enabled; returns whether it was enabled before. */
  drain(slot: number): boolean {
    if (!this.isEnabled(slot)) return false
    ;(this.flags[slot] as number) ^= ENABLED
    this.enabledCount--
    this.panicStrategy?.markUnavailable(slot)
    this.refresh(slot)
    this.updateEjection(slot, false)
    return true
  }

  /** Enables a drained member; returns whether it was drained. */
  enable(slot: number): boolean {
    if (this.isEnabled(slot)) return false
    ;(this.flags[slot] as number) ^= ENABLED
    this.enabledCount++
    this.panicStrategy?.markAvailable(slot)
    this.updateEjection(slot, this.isOpen(slot))
    this.refresh(slot)
    return true
  }

  /** Starts a cooldown until a time; returns false if the current one ends later. */
  startCooldown(slot: number, until: number): boolean {
    if (until <= this.cooldownUntil(slot)) return false
    this.cooldowns.set(slot, until)
    this.refresh(slot)
    return true
  }

  /** Ends the cooldown of a member; returns whether it had one. */
  endCooldown(slot: number): boolean {
    const wasCoolingDown = this.cooldownUntil(slot) > this.clock.now()
    this.cooldowns.delete(slot)
    this.refresh(slot)
    return wasCoolingDown
  }

  /** The end of the cooldown of a member; a past time if it has none. */
  cooldownUntil(slot: number): number {
    return this.cooldowns.get(slot) ?? ALWAYS_PAST
  }

  /** Evaluates a slot again after a change of its breaker. */
  onBreakerChanged(slot: number): void {
    if (this.isEnabled(slot)) this.updateEjection(slot, this.isOpen(slot))
    this.refresh(slot)
  }

  /** Chooses an available slot, one that is not in `tried` if possible; -1 if none is available. */
  chooseSlot(tried: readonly number[], context: unknown, now: number): number {
    while (this.dueSlots.earliest <= now) this.refreshEarliest(now)
    const strategy = this.panicStrategy !== undefined && this.isPanicking ? this.panicStrategy : this.strategy
    const slot = strategy.chooseSlot(tried, context, now)
    return slot >= 0 || tried.length === 0 ? slot : strategy.chooseSlot([], context, now)
  }

  /** Whether a slot can be selected that is not in `tried`. */
  hasUntriedMember(tried: readonly number[], now: number): boolean {
    while (this.dueSlots.earliest <= now) this.refreshEarliest(now)
    const [selectable, flag] =
      this.panicStrategy !== undefined && this.isPanicking
        ? [this.enabledCount, ENABLED]
        : [this.availableCount, INDEXED]
    return selectable > tried.filter((slot) => ((this.flags[slot] as number) & flag) !== 0).length
  }

  /** Whether a slot is used even if its breaker rejects the attempt: in panic mode, or when it is exempt from ejection. */
  ignoresBreaker(slot: number): boolean {
    return this.ejections.isExempt(slot) || this.isPanicking
  }

  /** Counts the selection of a slot. */
  onSelected(slot: number): void {
    this.slotTable.counters.countSelection(slot)
    this.strategy.onSelected?.(slot)
    this.panicStrategy?.onSelected?.(slot)
  }

  /** The earliest time at which a slot can be available; Infinity if waiting does not make one available. */
  nextAvailableAt(now: number): number {
    while (this.availableCount === 0) {
      const { earliest } = this.dueSlots
      // An entry can be outdated. It is valid if its slot is still unavailable until the same time.
      if (earliest === Infinity || this.queuedAt[this.refreshEarliest(now)] === earliest) return earliest
    }
    return now
  }

  statusOf(slot: number): MemberStatus {
    if (!this.isEnabled(slot)) return 'drained'
    if ((this.cooldowns.get(slot) ?? 0) > this.clock.now()) return 'resting'
    // A breaker whose open duration has passed stays open until its probe starts; an exempt one admits every attempt.
    const state = this.ejections.isExempt(slot) ? 'closed' : this.breakers.find(slot)?.state
    return state === undefined || state === 'closed' ? 'available' : state
  }

  grow(capacity: number): void {
    this.flags = growArray(this.flags, capacity)
    this.queuedAt = growArray(this.queuedAt, capacity, Infinity)
  }

  /**
   * Evaluates whether a slot can be selected, and updates the index of the strategy. A selection passes the time at which its
   * breaker rejected it: at a later time the slot could be available again, and the selection would choose it without end.
   */
  refresh(slot: number, now = this.clock.now()): void {
    const flags = this.flags[slot] as number
    const until = this.isEnabled(slot) ? this.unavailableUntil(slot, now) : Infinity
    const isUnavailable = until > now
    const isIndexed = (flags & INDEXED) !== 0
    if (isUnavailable === isIndexed) {
      this.flags[slot] = flags ^ INDEXED
      this.availableCount += isIndexed ? -1 : 1
      if (isIndexed) this.strategy.markUnavailable(slot)
      else this.strategy.markAvailable(slot)
    }
    if (isUnavailable && until < (this.queuedAt[slot] as number)) {
      this.queuedAt[slot] = until
      this.dueSlots.push(until, slot)
    }
  }

  /** Adds a slot to the strategies, with its current availability. */
  private index(slot: number): void {
    const { strategy, panicStrategy } = this
    strategy.addSlot?.(slot)
    panicStrategy?.addSlot?.(slot)
    if (((this.flags[slot] as number) & INDEXED) !== 0) strategy.markAvailable(slot)
    if (this.isEnabled(slot)) panicStrategy?.markAvailable(slot)
  }

  /** Removes a slot from the strategies. */
  private deindex(slot: number): void {
    const { strategy, panicStrategy } = this
    if (((this.flags[slot] as number) & INDEXED) !== 0) strategy.markUnavailable(slot)
    if (this.isEnabled(slot)) panicStrategy?.markUnavailable(slot)
    strategy.removeSlot?.(slot)
    panicStrategy?.removeSlot?.(slot)
  }

  /** Evaluates the slot that is queued for the earliest time. */
  private refreshEarliest(now: number): number {
    const slot = this.dueSlots.pop()
    this.queuedAt[slot] = Infinity
    this.refresh(slot, now)
    return slot
  }

  /** The time until which an enabled slot is unavailable; a past time if it is available. */
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

  /** Updates the ejected members; the change of one can eject an exempt one or make an ejected one exempt. */
  private updateEjection(slot: number, isOpen: boolean): void {
    if (!this.ejections.hasLimit) return
    for (const other of this.ejections.updateEjection(slot, isOpen, this.enabledCount)) this.refresh(other)
  }
}

/** The time until which all probe permits of a half-open breaker are held; a past time if one is free. */
function probesFullUntil({ probePermits = [], settings }: CircuitBreaker, now: number): number {
  const ends = probePermits.map(({ leaseEnd }) => leaseEnd).filter((end) => end > now)
  return ends.length < settings.halfOpenMax ? ALWAYS_PAST : Math.min(...ends)
}
