import { type Growing, grown } from '../indexes/grown.js'
import type { Roster } from '../roster.js'
import { type Strategy, wordOf } from './strategy.js'

/** Makes a way of choosing among slots whose members have these ids. */
type Make = (idOf: (slot: number) => string) => Strategy

/** The members of one region, in places of their own: a new one takes the place that was left last, or the next. */
class Places {
  readonly strategy: Strategy
  readonly slots: number[] = []
  private readonly left: number[] = []
  private room = 32

  constructor(make: Make, idOf: (slot: number) => string) {
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

/** Chooses in its way among those of the region that the call's context names; where nobody is there, among all. */
export class Region implements Strategy, Growing {
  private readonly everywhere: Strategy
  private readonly regions = new Map<string, Places>()
  /** Each slot's region, and its place there; -1 where it has none. */
  private readonly homes: (Places | undefined)[] = []
  private places = new Int32Array(0)
  private readonly roster: Roster
  private readonly make: Make
  private readonly idOf = (slot: number): string => this.roster.member(slot).id

  constructor(roster: Roster, make: Make) {
    this.roster = roster
    this.make = make
    this.everywhere = make(this.idOf)
  }

  join(slot: number): void {
    const { region } = this.roster.member(slot)
    let home: Places | undefined
    if (region !== undefined) {
      home = this.regions.get(region) ?? new Places(this.make, this.idOf)
      this.regions.set(region, home)
      this.places[slot] = home.join(slot)
    }
    this.homes[slot] = home
  }

  leave(slot: number): void {
    this.homes[slot]?.leave(this.places[slot] as number)
    this.homes[slot] = undefined
  }

  insert(slot: number): void {
    this.everywhere.insert(slot)
    this.homes[slot]?.strategy.insert(this.places[slot] as number)
  }

  delete(slot: number): void {
    this.everywhere.delete(slot)
    this.homes[slot]?.strategy.delete(this.places[slot] as number)
  }

  choose(tried: readonly number[], context: unknown, now: number): number {
    const region = wordOf(context, 'region')
    const home = region === undefined ? undefined : this.regions.get(region)
    const slot = home === undefined ? -1 : home.choose(tried, this.places, context, now)
    return slot >= 0 ? slot : this.everywhere.choose(tried, context, now)
  }

  grow(capacity: number): void {
    this.everywhere.grow(capacity)
    this.places = grown(this.places, capacity)
  }
}
