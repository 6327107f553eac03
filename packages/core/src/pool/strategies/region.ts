import { type Growing, grown } from '../indexes/grown.js'
import type { Roster } from '../roster.js'
import { RoundRobin } from './round-robin.js'
import { type Strategy, wordOf } from './strategy.js'

/** The members of one region, in places of their own: a new one takes the place that was left last, or the next. */
class Places {
  readonly turns = new RoundRobin()
  readonly slots: number[] = []
  private readonly left: number[] = []
  private room = 32

  constructor() {
    this.turns.grow(this.room)
  }

  join(slot: number): number {
    const place = this.left.pop() ?? this.slots.length
    if (place === this.room) this.turns.grow((this.room *= 2))
    this.slots[place] = slot
    return place
  }

  leave(place: number): void {
    this.left.push(place)
  }

  choose(tried: readonly number[], placeOf: Int32Array): number {
    const here =
      tried.length === 0 ? tried : tried.filter((slot) => this.slots[placeOf[slot] as number] === slot)
    const place = this.turns.choose(here.length === 0 ? here : here.map((slot) => placeOf[slot] as number))
    return place < 0 ? -1 : (this.slots[place] as number)
  }
}

/** Each in turn among those of the region that the call's context names; where nobody is there, among all. */
export class Region implements Strategy, Growing {
  private readonly everywhere = new RoundRobin()
  private readonly regions = new Map<string, Places>()
  /** Each slot's region, and its place there; -1 where it has none. */
  private readonly homes: (Places | undefined)[] = []
  private places = new Int32Array(0)
  private readonly roster: Roster

  constructor(roster: Roster) {
    this.roster = roster
  }

  join(slot: number): void {
    const { region } = this.roster.member(slot)
    let home: Places | undefined
    if (region !== undefined) {
      home = this.regions.get(region) ?? new Places()
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
    this.homes[slot]?.turns.insert(this.places[slot] as number)
  }

  delete(slot: number): void {
    this.everywhere.delete(slot)
    this.homes[slot]?.turns.delete(this.places[slot] as number)
  }

  choose(tried: readonly number[], context: unknown): number {
    const region = wordOf(context, 'region')
    const home = region === undefined ? undefined : this.regions.get(region)
    const slot = home === undefined ? -1 : home.choose(tried, this.places)
    return slot >= 0 ? slot : this.everywhere.choose(tried)
  }

  grow(capacity: number): void {
    this.everywhere.grow(capacity)
    this.places = grown(this.places, capacity)
  }
}
