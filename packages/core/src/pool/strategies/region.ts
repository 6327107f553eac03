import { BitSet } from '../indexes/bit-set.js'
import { growArray, type SlotIndexed } from '../indexes/grow-array.js'
import type { SlotTable } from '../members/slot-table.js'
import { contextValue, type SelectionStrategy } from './strategy.js'

/** Makes a way of choosing among slots whose members have these ids. */
type CreateStrategy = (idOf: (slot: number) => string) => SelectionStrategy

/** The members of one region, in places of their own: a new one takes the place that was left last, or the next. */
class RegionSlots {
  readonly regionNumber: number
  readonly strategy: SelectionStrategy
  readonly slots: number[] = []
  private readonly freePositions: number[] = []
  private capacity = 32

  /** With room for so many, and a number that the region is known by. */
  constructor(make: CreateStrategy, idOf: (slot: number) => string, size: number, number: number) {
    this.regionNumber = number
    while (this.capacity < size) this.capacity *= 2
    this.strategy = make((position) => idOf(this.slots[position] as number))
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

  choose(tried: readonly number[], placeOf: Int32Array, context: unknown, now: number): number {
    const triedHere =
      tried.length === 0 ? tried : tried.filter((slot) => this.slots[placeOf[slot] as number] === slot)
    const positions = triedHere.length === 0 ? triedHere : triedHere.map((slot) => placeOf[slot] as number)
    const position = this.strategy.chooseSlot(positions, context, now)
    return position < 0 ? -1 : (this.slots[position] as number)
  }
}

/**
 * Chooses in its way among those of the region that the call's context names; where nobody is there, among all. What finds
 * all of them, and with `isLazy` those of a region, is made when a call first needs it: it takes room, and few pools need
 * everything.
 */
export class RegionStrategy implements SelectionStrategy, SlotIndexed {
  private fallbackStrategy: SelectionStrategy | undefined
  private readonly regions = new Map<string, RegionSlots>()
  /** The same, in the order in which they were found. */
  private readonly regionList: RegionSlots[] = []
  /** The number of each slot's region among those, from 1, and its place there; 0 where it has none, or that is not found. */
  private regionOfSlot = new Uint32Array(0)
  private positionOfSlot = new Int32Array(0)
  /** How many members each region has. */
  private readonly memberCounts = new Map<string, number>()
  private readonly available = new BitSet()
  private capacity = 0
  private readonly slotTable: SlotTable
  private readonly createStrategy: CreateStrategy
  private readonly isLazy: boolean
  private readonly idOf = (slot: number): string => this.slotTable.member(slot).id

  constructor(roster: SlotTable, make: CreateStrategy, lazy: boolean) {
    this.slotTable = roster
    this.createStrategy = make
    this.isLazy = lazy
  }

  addSlot(slot: number): void {
    const { region } = this.slotTable.member(slot)
    if (region === undefined) return
    this.memberCounts.set(region, (this.memberCounts.get(region) ?? 0) + 1)
    const regionSlots =
      this.regions.get(region) ?? (this.isLazy ? undefined : this.findOrCreateRegion(region))
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
      region === undefined ? undefined : (this.regions.get(region) ?? this.createRegion(region))
    const slot = regionSlots === undefined ? -1 : regionSlots.choose(tried, this.positionOfSlot, context, now)
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

  private createRegion(region: string): RegionSlots | undefined {
    // Anybody may name a region that there is not.
    if ((this.memberCounts.get(region) ?? 0) === 0) return undefined
    const regionSlots = this.findOrCreateRegion(region)
    for (const slot of this.slotTable.usedSlots()) {
      if (this.slotTable.member(slot).region !== region) continue
      this.assignSlot(slot, regionSlots)
      if (this.available.next(slot) === slot)
        regionSlots.strategy.markAvailable(this.positionOfSlot[slot] as number)
    }
    return regionSlots
  }

  private findOrCreateRegion(region: string): RegionSlots {
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
