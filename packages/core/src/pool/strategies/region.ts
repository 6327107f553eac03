import { Bits } from '../indexes/bits.js'
import { type Growing, grown } from '../indexes/grown.js'
import type { Roster } from '../roster.js'
import { type Strategy, wordOf } from './strategy.js'

/** Makes a way of choosing among slots whose members have these ids. */
type Make = (idOf: (slot: number) => string) => Strategy

/** The members of one region, in places of their own: a new one takes the place that was left last, or the next. */
class Places {
  readonly number: number
  readonly strategy: Strategy
  readonly slots: number[] = []
  private readonly left: number[] = []
  private room = 32

  /** With room for so many, and a number that the region is known by. */
  constructor(make: Make, idOf: (slot: number) => string, size: number, number: number) {
    this.number = number
    while (this.room < size) this.room *= 2
    this.strategy = make((place) => idOf(this.slots[place] as number))
    this.strategy.grow(this.room)
  }

  join(slot: number): number {
    const place = this.left.pop() ?? this.slots.length
    if (place === this.room) this.strategy.grow((this.room *= 2))
    this.slots[place] = slot
    return place
  }

  leave(place: number): void {
    this.left.push(place)
  }

  choose(tried: readonly number[], placeOf: Int32Array, context: unknown, now: number): number {
    const here =
      tried.length === 0 ? tried : tried.filter((slot) => this.slots[placeOf[slot] as number] === slot)
    const places = here.length === 0 ? here : here.map((slot) => placeOf[slot] as number)
    const place = this.strategy.choose(places, context, now)
    return place < 0 ? -1 : (this.slots[place] as number)
  }
}

/**
 * Chooses in its way among those of the region that the call's context names; where nobody is there, among all. What finds
 * all of them, and with `lazy` those of a region, is made when a call first needs it: it takes room, and few pools need
 * everything.
 */
export class Region implements Strategy, Growing {
  private everywhere: Strategy | undefined
  private readonly regions = new Map<string, Places>()
  /** The same, in the order in which they were found. */
  private readonly found: Places[] = []
  /** The number of each slot's region among those, from 1, and its place there; 0 where it has none, or that is not found. */
  private homes = new Uint32Array(0)
  private places = new Int32Array(0)
  /** How many members each region has. */
  private readonly sizes = new Map<string, number>()
  private readonly present = new Bits()
  private capacity = 0
  private readonly roster: Roster
  private readonly make: Make
  private readonly lazy: boolean
  private readonly idOf = (slot: number): string => this.roster.member(slot).id

  constructor(roster: Roster, make: Make, lazy: boolean) {
    this.roster = roster
    this.make = make
    this.lazy = lazy
  }

  join(slot: number): void {
    const { region } = this.roster.member(slot)
    if (region === undefined) return
    this.sizes.set(region, (this.sizes.get(region) ?? 0) + 1)
    const home = this.regions.get(region) ?? (this.lazy ? undefined : this.find(region))
    if (home !== undefined) this.settle(slot, home)
  }

  leave(slot: number): void {
    const { region } = this.roster.member(slot)
    if (region !== undefined) this.sizes.set(region, (this.sizes.get(region) as number) - 1)
    this.homeOf(slot)?.leave(this.places[slot] as number)
    this.homes[slot] = 0
  }

  insert(slot: number): void {
    this.present.set(slot)
    this.everywhere?.insert(slot)
    this.homeOf(slot)?.strategy.insert(this.places[slot] as number)
  }

  delete(slot: number): void {
    this.present.clear(slot)
    this.everywhere?.delete(slot)
    this.homeOf(slot)?.strategy.delete(this.places[slot] as number)
  }

  choose(tried: readonly number[], context: unknown, now: number): number {
    const region = wordOf(context, 'region')
    const home = region === undefined ? undefined : (this.regions.get(region) ?? this.open(region))
    const slot = home === undefined ? -1 : home.choose(tried, this.places, context, now)
    return slot >= 0 ? slot : (this.everywhere ?? this.openAll()).choose(tried, context, now)
  }

  grow(capacity: number): void {
    this.capacity = capacity
    this.present.grow(capacity)
    this.everywhere?.grow(capacity)
    this.places = grown(this.places, capacity)
    this.homes = grown(this.homes, capacity)
  }

  private openAll(): Strategy {
    const { present } = this
    this.everywhere = this.make(this.idOf)
    this.everywhere.grow(this.capacity)
    for (let slot = present.next(0); slot >= 0; slot = present.next(slot + 1)) this.everywhere.insert(slot)
    return this.everywhere
  }

  private open(region: string): Places | undefined {
    // Anybody may name a region that there is not.
    if ((this.sizes.get(region) ?? 0) === 0) return undefined
    const home = this.find(region)
    for (const slot of this.roster.taken()) {
      if (this.roster.member(slot).region !== region) continue
      this.settle(slot, home)
      if (this.present.next(slot) === slot) home.strategy.insert(this.places[slot] as number)
    }
    return home
  }

  private find(region: string): Places {
    const home = new Places(this.make, this.idOf, this.sizes.get(region) as number, this.found.length + 1)
    this.regions.set(region, home)
    this.found.push(home)
    return home
  }

  private homeOf(slot: number): Places | undefined {
    return this.found[(this.homes[slot] as number) - 1]
  }

  private settle(slot: number, home: Places): void {
    this.homes[slot] = home.number
    this.places[slot] = home.join(slot)
  }
}
