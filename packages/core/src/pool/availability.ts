import type { CircuitBreaker } from '../breaker/breaker.js'
import type { Clock } from '../clock.js'
import type { MemberBreakers } from './breakers.js'
import { Ejections } from './ejections.js'
import { Due } from './indexes/due.js'
import { type Growing, grown } from './indexes/grown.js'
import type { Roster } from './roster.js'
import type { Strategy } from './strategies/strategy.js'

/** Where a slot stands: it has a member that is not drained, and is in the strategy's index. */
const ENABLED = 1
const LISTED = 2

/** A time that has passed, whatever the clock says. */
const NOT = Number.NEGATIVE_INFINITY

/** How a member stands: drained, at rest, or as its breaker is; `available` is a closed one, or one that is spared. */
export type MemberStatus = 'available' | 'open' | 'half_open' | 'resting' | 'drained'

/** How many may be out, and how time passes. */
export interface Limits {
  readonly maxEjected: number | undefined
  readonly panicThreshold: number | undefined
  readonly clock: Clock
}

/**
 * Who may be chosen. A slot that is out for a time has an entry among those that are due; whatever happens to a member, or
 * when its time has come, it is looked at anew.
 */
export class Availability implements Growing {
  /** How many may be chosen, and how many are not drained. */
  available = 0
  enabled = 0
  private flags = new Uint8Array(0)
  /** The earliest entry of each slot among those that are due. */
  private queued = new Float64Array(0)
  private readonly due = new Due()
  private readonly rests = new Map<number, number>()
  private ejections: Ejections
  private readonly roster: Roster
  private readonly breakers: MemberBreakers
  private strategy: Strategy
  private everyone: Strategy | undefined
  private readonly panicThreshold: number
  private readonly clock: Clock

  constructor(roster: Roster, breakers: MemberBreakers, makeStrategy: () => Strategy, limits: Limits) {
    const { maxEjected, panicThreshold = 0, clock } = limits
    this.roster = roster
    this.breakers = breakers
    this.ejections = new Ejections(maxEjected)
    this.strategy = roster.keep(makeStrategy())
    this.everyone = panicThreshold > 0 ? roster.keep(makeStrategy()) : undefined
    this.panicThreshold = panicThreshold
    this.clock = clock
  }

  /** Where so few are available that the choice is among all. */
  private get panic(): boolean {
    return this.available < this.panicThreshold * this.enabled
  }

  /** A member has come. */
  join(slot: number): void {
    this.strategy.join?.(slot)
    this.everyone?.join?.(slot)
    this.enable(slot)
  }

  /** A member goes. */
  leave(slot: number): void {
    this.drain(slot)
    this.rests.delete(slot)
    this.strategy.leave?.(slot)
    this.everyone?.leave?.(slot)
  }

  /** Lets something about a member change that strategies go by. What keeps it from being chosen stays. */
  revise(slot: number, change: () => void): void {
    this.unlist(slot)
    change()
    this.list(slot)
  }

  /** Goes by another strategy, and by another share of members that may be out. */
  reshape(makeStrategy: () => Strategy, maxEjected: number | undefined): void {
    const { roster, everyone } = this
    roster.drop(this.strategy)
    roster.drop(everyone)
    this.strategy = roster.keep(makeStrategy())
    this.everyone = everyone === undefined ? undefined : roster.keep(makeStrategy())
    this.ejections = new Ejections(maxEjected)
    for (const slot of roster.taken()) this.list(slot)
    for (const slot of roster.taken()) this.changed(slot)
  }

  /** Takes a member out until it is enabled; tells whether that is new. */
  drain(slot: number): boolean {
    if (!this.isEnabled(slot)) return false
    ;(this.flags[slot] as number) ^= ENABLED
    this.enabled--
    this.everyone?.delete(slot)
    this.look(slot)
    this.eject(slot, false)
    return true
  }

  /** Takes a member in again; tells whether it was out. */
  enable(slot: number): boolean {
    if (this.isEnabled(slot)) return false
    ;(this.flags[slot] as number) ^= ENABLED
    this.enabled++
    this.everyone?.insert(slot)
    this.eject(slot, this.isOpen(slot))
    this.look(slot)
    return true
  }

  /** Leaves a member alone until a time; tells whether that is later than it would have been. */
  rest(slot: number, until: number): boolean {
    if (until <= this.restEnd(slot)) return false
    this.rests.set(slot, until)
    this.look(slot)
    return true
  }

  /** Ends the rest of a member; tells whether it had one. */
  rouse(slot: number): boolean {
    const rested = this.restEnd(slot) > this.clock.now()
    this.rests.delete(slot)
    this.look(slot)
    return rested
  }

  /** Until when a member rests; a time that has passed where it does not. */
  restEnd(slot: number): number {
    return this.rests.get(slot) ?? NOT
  }

  /** The breaker of a slot has changed. */
  changed(slot: number): void {
    if (this.isEnabled(slot)) this.eject(slot, this.isOpen(slot))
    this.look(slot)
  }

  /** Chooses a slot, of those not in `tried` where there are such; -1 where nobody is available. */
  choose(tried: readonly number[], context: unknown, now: number): number {
    while (this.due.first <= now) this.wake()
    const strategy = this.everyone !== undefined && this.panic ? this.everyone : this.strategy
    const slot = strategy.choose(tried, context, now)
    return slot >= 0 || tried.length === 0 ? slot : strategy.choose([], context, now)
  }

  /** Whether somebody may be chosen who is not in `tried`. */
  hasOther(tried: readonly number[], now: number): boolean {
    while (this.due.first <= now) this.wake()
    const [some, flag] =
      this.everyone !== undefined && this.panic ? [this.enabled, ENABLED] : [this.available, LISTED]
    return some > tried.filter((slot) => ((this.flags[slot] as number) & flag) !== 0).length
  }

  /** Whether a choice stands though the slot's breaker refuses: in a panic, or beyond the share that may be out. */
  overrules(slot: number): boolean {
    return this.ejections.isSpared(slot) || this.panic
  }

  /** A slot was chosen once more. */
  turned(slot: number): void {
    this.roster.ledger.turn(slot)
    this.strategy.turned?.(slot)
    this.everyone?.turned?.(slot)
  }

  /** When somebody may be available again; Infinity where nobody will be by waiting. */
  nextAt(now: number): number {
    while (this.available === 0) {
      const { first } = this.due
      // An entry may be out of date. It is right where its slot is still out until then.
      if (first === Infinity || this.queued[this.wake()] === first) return first
    }
    return now
  }

  status(slot: number): MemberStatus {
    if (!this.isEnabled(slot)) return 'drained'
    if ((this.rests.get(slot) ?? 0) > this.clock.now()) return 'resting'
    // A breaker whose time is up is open until somebody tests it; one that is spared lets everybody through.
    const state = this.ejections.isSpared(slot) ? 'closed' : this.breakers.find(slot)?.state
    return state === undefined || state === 'closed' ? 'available' : state
  }

  grow(capacity: number): void {
    this.flags = grown(this.flags, capacity)
    this.queued = grown(this.queued, capacity, Infinity)
  }

  /** Looks whether a slot may be chosen, and lists it or not. */
  look(slot: number): void {
    const flags = this.flags[slot] as number
    const now = this.clock.now()
    const until = this.isEnabled(slot) ? this.outUntil(slot, now) : Infinity
    const isOut = until > now
    const listed = (flags & LISTED) !== 0
    if (isOut === listed) {
      this.flags[slot] = flags ^ LISTED
      this.available += listed ? -1 : 1
      if (listed) this.strategy.delete(slot)
      else this.strategy.insert(slot)
    }
    if (isOut && until < (this.queued[slot] as number)) {
      this.queued[slot] = until
      this.due.push(until, slot)
    }
  }

  /** Tells the strategies of a slot, as it stands. */
  private list(slot: number): void {
    const { strategy, everyone } = this
    strategy.join?.(slot)
    everyone?.join?.(slot)
    if (((this.flags[slot] as number) & LISTED) !== 0) strategy.insert(slot)
    if (this.isEnabled(slot)) everyone?.insert(slot)
  }

  /** Lets the strategies forget a slot. */
  private unlist(slot: number): void {
    const { strategy, everyone } = this
    if (((this.flags[slot] as number) & LISTED) !== 0) strategy.delete(slot)
    if (this.isEnabled(slot)) everyone?.delete(slot)
    strategy.leave?.(slot)
    everyone?.leave?.(slot)
  }

  /** Looks at the slot whose time comes first. */
  private wake(): number {
    const slot = this.due.pop()
    this.queued[slot] = Infinity
    this.look(slot)
    return slot
  }

  /** Until when a slot that is not drained is out; a time that has passed where it is not. */
  private outUntil(slot: number, now: number): number {
    const rest = this.rests.get(slot)
    if (rest !== undefined) {
      if (rest > now) return rest
      this.rests.delete(slot)
    }
    const breaker = this.breakers.find(slot)
    if (breaker === undefined || breaker.phase === 'closed' || this.ejections.isSpared(slot)) return NOT
    return breaker.phase === 'open' ? breaker.until : fullUntil(breaker, now)
  }

  private isEnabled(slot: number): boolean {
    return ((this.flags[slot] as number) & ENABLED) !== 0
  }

  private isOpen(slot: number): boolean {
    return (this.breakers.find(slot)?.phase ?? 'closed') !== 'closed'
  }

  /** Keeps account of who is set aside; there may be room for one that was spared, or none for one that was not. */
  private eject(slot: number, isOpen: boolean): void {
    if (!this.ejections.limited) return
    for (const other of this.ejections.update(slot, isOpen, this.enabled)) this.look(other)
  }
}

/** Until when all places for tests at a half-open breaker are taken. */
function fullUntil({ probes = [], settings }: CircuitBreaker, now: number): number {
  const ends = probes.map(({ leaseEnd }) => leaseEnd).filter((end) => end > now)
  return ends.length < settings.halfOpenMax ? NOT : Math.min(...ends)
}
