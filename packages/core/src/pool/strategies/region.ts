import { BitSet } from '../indexes/bit-set.js'
import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import type { SlotTable } from '../members/slot-table.js'
import { contextValue, type SelectionStrategy } from './strategy.js'

/** Creates the strategy that chooses among a set of slots; `idOf` returns the id of the member of a slot. */
type CreateStrategy = (idOf: (slot: number) => string) => SelectionStrategy

/**
 * The members of one region. Each has a position, which is its slot for the strategy of the region; a new one gets the
 * position that was freed last, or the next.
 */
class RegionSlots {
  readonly regionNumber: number
  readonly strategy: SelectionStrategy
  readonly slots: number[] = []
  private readonly freePositions: number[] = []
  private capacity = 32

  constructor(
    createStrategy: CreateStrategy,
    idOf: (slot: number) => string,
    size: number,
    regionNumber: number,
  ) {
    this.regionNumber = regionNumber
    while (this.capacity < size) this.capacity *= 2
    this.strategy = createStrategy((position) => idOf(this.slots[position] as number))
    this.strategy.grow(this.capacity)
  }

  addSlot(slot: number): number {
    const position = this.freePositions.pop() ?? this.slots.length
    if (position === this.capacity) this.strategy.grow((this.capacity *= 2))
    this.slots[position] = slot
    return position
  }

  removeSlot(position: number): void {
    this.freePositions.push(position)
  }

  chooseSlot(tried: readonly number[], positionOf: Int32Array, context: unknown, now: number): number {
    const triedHere =
      tried.length === 0 ? tried : tried.filter((slot) => this.slots[positionOf[slot] as number] === slot)
    const positions = triedHere.length === 0 ? triedHere : triedHere.map((slot) => positionOf[slot] as number)
    const position = this.strategy.chooseSlot(positions, context, now)
    return position < 0 ? -1 : (this.slots[position] as number)
  }
}

/**
 * Chooses by an inner strategy among the members of the region in the call's context, or among all members if none of that
 * region is available. The index of all members is created when a call first needs it, and with `isLazy` that of a region
 * too: indexes take memory, and few pools need all of them.
 */
export class RegionStrategy implements SelectionStrategy, SlotIndexed {
  private fallbackStrategy: SelectionStrategy | undefined
  private readonly regions = new Map<string, RegionSlots>()
  /** The regions by number; the first has the number 1. */
  private readonly regionList: RegionSlots[] = []
  /** The number of each slot's region, 0 if it has none or its index does not exist yet, and the slot's position in it. */
  private regionOfSlot = new Uint32Array(0)
  private positionOfSlot = new Int32Array(0)
  /** The number of members of each region. */
  private readonly memberCounts = new Map<string, number>()
  private readonly available = new BitSet()
  private capacity = 0
  private readonly slotTable: SlotTable
  private readonly createStrategy: CreateStrategy
  private readonly isLazy: boolean
  private readonly idOf = (slot: number): string => this.slotTable.member(slot).id

  constructor(slotTable: SlotTable, createStrategy: CreateStrategy, isLazy: boolean) {
    this.slotTable = slotTable
    this.createStrategy = createStrategy
    this.isLazy = isLazy
  }

  addSlot(slot: number): void {
    const { region } = this.slotTable.member(slot)
    if (region === undefined) return
    this.memberCounts.set(region, (this.memberCounts.get(region) ?? 0) + 1)
    const regionSlots = this.regions.get(region) ?? (this.isLazy ? undefined : this.createRegion(region))
    if (regionSlots !== undefined) this.assignSlot(slot, regionSlots)
  }

  removeSlot(slot: number): void {
    const { region } = this.slotTable.member(slot)
    if (region !== undefined) this.memberCounts.set(region, (this.memberCounts.get(region) as number) - 1)
    this.regionSlotsOf(slot)?.removeSlot(this.positionOfSlot[slot] as number)
    this.regionOfSlot[slot] = 0
  }

  markAvailable(slot: number): void {
    this.available.set(slot)
    this.fallbackStrategy?.markAvailable(slot)
    this.regionSlotsOf(slot)?.strategy.markAvailable(this.positionOfSlot[slot] as number)
  }

  markUnavailable(slot: number): void {
    this.available.clear(slot)
    this.fallbackStrategy?.markUnavailable(slot)
    this.regionSlotsOf(slot)?.strategy.markUnavailable(this.positionOfSlot[slot] as number)
  }

  chooseSlot(tried: readonly number[], context: unknown, now: number): number {
    const region = contextValue(context, 'region')
    const regionSlots =
      region === undefined ? undefined : (this.regions.get(region) ?? this.createFilledRegion(region))
    const slot =
      regionSlots === undefined ? -1 : regionSlots.chooseSlot(tried, this.positionOfSlot, context, now)
    return slot >= 0 ? slot : (this.fallbackStrategy ?? this.createFallback()).chooseSlot(tried, context, now)
  }

  grow(capacity: number): void {
    this.capacity = capacity
    this.available.grow(capacity)
    this.fallbackStrategy?.grow(capacity)
    this.positionOfSlot = growArray(this.positionOfSlot, capacity)
    this.regionOfSlot = growArray(this.regionOfSlot, capacity)
  }

  private createFallback(): SelectionStrategy {
    const { available } = this
    this.fallbackStrategy = this.createStrategy(this.idOf)
    this.fallbackStrategy.grow(this.capacity)
    for (let slot = available.next(0); slot >= 0; slot = available.next(slot + 1))
      this.fallbackStrategy.markAvailable(slot)
    return this.fallbackStrategy
  }

  private createFilledRegion(region: string): RegionSlots | undefined {
    // The context of a call can name any region; no index is created for one without members.
    if ((this.memberCounts.get(region) ?? 0) === 0) return undefined
    const regionSlots = this.createRegion(region)
    for (const slot of this.slotTable.usedSlots()) {
      if (this.slotTable.member(slot).region !== region) continue
      this.assignSlot(slot, regionSlots)
      if (this.available.next(slot) === slot)
        regionSlots.strategy.markAvailable(this.positionOfSlot[slot] as number)
    }
    return regionSlots
  }

  private createRegion(region: string): RegionSlots {
    const regionSlots = new RegionSlots(
      this.createStrategy,
      this.idOf,
      this.memberCounts.get(region) as number,
      this.regionList.length + 1,
    )
    this.regions.set(region, regionSlots)
    this.regionList.push(regionSlots)
    return regionSlots
  }

  private regionSlotsOf(slot: number): RegionSlots | undefined {
    return this.regionList[(this.regionOfSlot[slot] as number) - 1]
  }

  private assignSlot(slot: number, regionSlots: RegionSlots): void {
    this.regionOfSlot[slot] = regionSlots.regionNumber
    this.positionOfSlot[slot] = regionSlots.addSlot(slot)
  }
}
