import type { BreakerEvent, CircuitBreaker } from '../breaker/breaker.js'
import { BREAKER_DEFAULTS, type BreakerOptions, readBreaker } from '../breaker/options.js'
import type { BreakerSnapshot } from '../breaker/snapshot.js'
import { HoldfastError } from '../errors.js'
import { INSPECT, type Inspect, showAs } from '../inspect.js'
import { Listeners } from '../listeners.js'
import { refuse, show } from '../options.js'
import { Availability, type MemberStatus } from './availability.js'
import { MemberBreakers } from './breakers.js'
import type { PoolEvent } from './events.js'
import { Judge } from './judge.js'
import type { MemberStats } from './ledger.js'
import type { PoolLink } from './link.js'
import type { Member } from './member.js'
import { type PoolOptions, type PoolSettings, type PoolShape, readMember, readPool } from './options.js'
import type { Pick, PickOutcome, PoolProtocol } from './protocol.js'
import { networkDown, poolUnavailable } from './refusals.js'
import { Roster } from './roster.js'
import type { Chooser } from './strategies/function.js'
import { makeStrategy } from './strategies/index.js'
import type { Strategy } from './strategies/strategy.js'
import { keepTakenShape, Taken } from './taken.js'

const NOBODY: readonly number[] = []

/**
 * Members that can do the same thing, one of which is chosen for each attempt: by turns, by chance, by score, by session …
 * Each has a breaker of its own, made when it is first needed, and members whose breaker is open are left alone until
 * their time is up. Given to a guard, an attempt goes to a member that the call has not tried yet, while there are such.
 *
 * Where nobody is available calls are refused at once: POOL_UNAVAILABLE says when to come back. Where most of the members
 * meet faults of the network at this end, it is NETWORK_DOWN, and nothing is held against them. A member that answers 429
 * rests as long as it asks for, or for `timeoutDuration`, and nothing is held against it either.
 *
 * @example
 * ```ts
 * import { Pool } from 'holdfast'
 *
 * const pool = new Pool({ id: 'proxies', members: [{ id: 'a', value: 9001 }, { id: 'b', value: 9002 }] })
 * pool.pick()?.value // => 9001
 * pool.pick()?.value // => 9002
 * pool.breaker('a').trip()
 * pool.pick()?.value // => 9002
 * pool.breaker('b').id // => 'pool:proxies:b'
 * ```
 */
export class Pool<T = unknown> implements PoolProtocol<T> {
  /** What it is called in errors and in the ids of its breakers. */
  readonly id: string
  private readonly settings: PoolSettings<T>
  private readonly roster = new Roster<T>()
  private readonly breakers: MemberBreakers
  private readonly availability: Availability
  private readonly judge: Judge<T>
  private readonly listeners = new Listeners<PoolEvent>('a pool')
  private readonly isTaken = (id: string): boolean => this.roster.slotOf(id) !== undefined

  /** @throws INVALID_OPTIONS that lists everything wrong with the options and the members */
  constructor(options: PoolOptions<T>) {
    const problems: string[] = []
    const settings = readPool(options, problems)
    const { roster } = this
    const { id, breaker } = settings
    this.id = id
    this.settings = settings
    this.breakers = roster.keep(
      new MemberBreakers(id, breaker, roster, (slot, event) => this.hear(slot, event)),
    )
    const judge = new Judge(settings, roster, this.breakers, (event) => this.listeners.emit(event))
    this.judge = judge
    this.availability = roster.keep(
      new Availability(roster, this.breakers, () => this.makeStrategy(), settings),
    )
    judge.availability = this.availability
    settings.members.forEach((member, i) => this.enroll(`members.${i}`, member, problems))
    refuse(id === undefined ? 'a pool' : `the pool ${id}`, problems)
    keepTakenShape()
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    const { id, size, settings } = this
    const { strategy } = settings
    return showAs('Pool', { id, strategy, size }, options, inspect)
  }

  /** How many members it has. */
  get size(): number {
    return this.roster.size
  }

  /** All members, in the order of their places: a new one takes the place that was left last, where there is one. */
  members(): Member<T>[] {
    return this.roster.members()
  }

  /**
   * The member that a call with this context would go to now; undefined where nobody is available. It counts as a turn and
   * as a use of the member, but not as a call: no breaker is asked, none is tested, and no result is expected.
   */
  pick(context?: unknown): Member<T> | undefined {
    const { availability, roster, settings } = this
    const now = settings.clock.now()
    const slot = this.judge.isDown(now) ? -1 : availability.choose(NOBODY, context, now)
    if (slot < 0) return undefined
    availability.turned(slot)
    return roster.member(slot)
  }

  /**
   * The breaker of a member, with all that a breaker can do.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  breaker(id: string): CircuitBreaker {
    return this.breakers.get(this.slotOf(id))
  }

  /**
   * What the pool knows of a member's attempts.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  stats(id: string): MemberStats {
    return this.judge.stats(this.slotOf(id), id)
  }

  /**
   * How a member stands. One whose breaker is open reads `open` until somebody tests it, though its time may be up.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  status(id: string): MemberStatus {
    return this.availability.status(this.slotOf(id))
  }

  /**
   * Takes a new member in.
   *
   * @throws INVALID_OPTIONS that lists everything wrong with it; an id that another member has is wrong too
   */
  add(member: Member<T>): void {
    const problems: string[] = []
    this.enroll('member', member, problems)
    refuse(`a member of the pool ${this.id}`, problems)
    this.tell('added', member.id)
  }

  /**
   * Lets a member go. Its calls in flight end as they will and count for nothing.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  remove(id: string): void {
    const slot = this.slotOf(id)
    this.availability.leave(slot)
    this.judge.forget(slot)
    this.breakers.forget(slot)
    this.roster.remove(slot)
    this.tell('removed', id)
  }

  /**
   * Sends no new calls to a member until it is enabled; those in flight end and count as usual.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  drain(id: string): void {
    if (this.availability.drain(this.slotOf(id))) this.tell('drained', id)
  }

  /**
   * Sends calls to a member again that was drained or rests. Its breaker is left as it is.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  enable(id: string): void {
    const { availability, judge } = this
    const slot = this.slotOf(id)
    const rested = availability.rouse(slot)
    const drained = availability.enable(slot)
    if (rested) judge.link?.roused(id)
    if (rested || drained) this.tell('enabled', id)
  }

  /** Tells `listener` of every change of a member, its breaker or the network, until the function it returns is called. */
  on(listener: (event: PoolEvent) => void): () => void {
    return this.listeners.add(listener)
  }

  /** @internal Goes by other settings for its members' breakers, which stay where they are. */
  reconfigure(options: BreakerOptions): void {
    const problems: string[] = []
    const { settings, breakers, roster, availability } = this
    const breaker = readBreaker('breaker', options, { ...BREAKER_DEFAULTS, clock: settings.clock }, problems)
    refuse(`the pool ${this.id}`, problems)
    settings.breaker = breaker
    breakers.reconfigure(breaker)
    for (const { id } of roster.members()) availability.changed(this.slotOf(id))
  }

  /**
   * @internal Goes by another strategy, another share that may be set aside and other faults of members; those left out are
   * the defaults. What it knows of its members stays, but for what another strategy chose by.
   */
  reshape(options: PoolShape): void {
    const problems: string[] = []
    const { id, settings, judge, availability } = this
    const { strategy, maxEjected, memberFaults } = readPool({ ...options, id }, problems)
    refuse(`the pool ${id}`, problems)
    Object.assign(settings, { strategy, maxEjected, memberFaults })
    judge.reshape()
    availability.reshape(() => this.makeStrategy(), maxEjected)
  }

  /** @internal Takes other words about the member of that id, which is the same one still: what is known of it stays. */
  revise(member: Member<T>): void {
    const problems: string[] = []
    const { breakers, roster, availability, settings } = this
    const slot = this.slotOf(member.id)
    const own = readMember('member', member, settings.breaker, () => false, problems)
    refuse(`a member of the pool ${this.id}`, problems)
    availability.revise(slot, () => roster.replace(slot, member))
    breakers.revise(slot, own)
    availability.changed(slot)
  }

  /** @internal Tells the same pool elsewhere of its members' rests, by `link`; undefined ends that. */
  connect(link: PoolLink | undefined): void {
    this.judge.link = link
  }

  /**
   * @internal Leaves a member alone for so many milliseconds because that was asked for elsewhere. Tells whether it rests for
   * longer now than it would have; false too where there is no such member (any more).
   */
  rest(id: string, ms: number): boolean {
    const slot = this.roster.slotOf(id)
    return slot !== undefined && this.judge.rest(slot, ms)
  }

  /** @internal Ends the rest of a member because it was ended elsewhere; tells whether it had one. */
  rouse(id: string): boolean {
    const slot = this.roster.slotOf(id)
    if (slot === undefined || !this.availability.rouse(slot)) return false
    this.tell('enabled', id)
    return true
  }

  /** @internal How many milliseconds of its rest a member has left; 0 where it does not rest. */
  restLeft(id: string): number {
    return Math.max(0, this.availability.restEnd(this.slotOf(id)) - this.settings.clock.now())
  }

  /** @internal The breakers that anything has happened to. */
  usedBreakers(): CircuitBreaker[] {
    return this.breakers.all()
  }

  /** @internal Puts a member's breaker where a snapshot's was. */
  resume(id: string, snapshot: BreakerSnapshot): void {
    this.breakers.resume(this.slotOf(id), snapshot)
  }

  /** @internal */
  take(context: unknown, picks: readonly Pick<T>[], lease: number | undefined): Pick<T> | undefined {
    const { availability, roster, judge, settings } = this
    const now = settings.clock.now()
    if (!judge.admits(now)) return undefined
    const tried = picks.length === 0 ? NOBODY : this.triedOf(picks as Taken<T>[])
    for (;;) {
      const slot = availability.choose(tried, context, now)
      if (slot < 0) return undefined
      const taken = new Taken(roster.member(slot), slot, roster.life(slot), now)
      if (!this.admits(taken, lease, now)) continue
      availability.turned(slot)
      return taken
    }
  }

  /** @internal */
  hasOther(picks: readonly Pick<T>[]): boolean {
    const now = this.settings.clock.now()
    return !this.judge.isDown(now) && this.availability.hasOther(this.triedOf(picks as Taken<T>[]), now)
  }

  /** @internal */
  settle(pick: Pick<T>, outcome: PickOutcome, picks: readonly Pick<T>[]): boolean {
    const fault = this.judge.settle(pick as Taken<T>, outcome, picks as readonly Taken<T>[])
    // Nobody is left who could do better.
    return fault && this.triedOf(picks as Taken<T>[]).length < this.size
  }

  /** @internal */
  refusal(): HoldfastError {
    const now = this.settings.clock.now()
    const { id, size, judge, availability } = this
    if (judge.isDown(now)) return networkDown(id, judge.retryAfter(now))
    return poolUnavailable(id, size, Math.max(0, availability.nextAt(now) - now))
  }

  private makeStrategy(): Strategy {
    const { judge, roster, settings } = this
    const { random, strategy } = settings
    const { averages, results } = judge
    return makeStrategy(strategy as Chooser, { random, roster, averages, results })
  }

  /** Lets a call through the breaker of the slot that was chosen, or finds that the slot is out after all. */
  private admits(taken: Taken<T>, lease: number | undefined, now: number): boolean {
    const { availability, breakers, roster } = this
    const { slot } = taken
    const breaker = breakers.forCall(slot)
    if (breaker === undefined) return true
    const overruled = availability.overrules(slot)
    const admitted = breaker.admits(taken, lease, now)
    // A listener that heard of the test may have removed the member.
    if (taken.life !== roster.life(slot)) return false
    if (breaker.phase !== 'closed') availability.look(slot)
    if (!admitted && !overruled) return false
    taken.admitted = admitted ? taken.epoch : -1
    return true
  }

  /** The slots of the members that a call has tried, each once. */
  private triedOf(picks: readonly Taken<T>[]): number[] {
    const tried: number[] = []
    for (const { slot, life } of picks)
      if (life === this.roster.life(slot) && !tried.includes(slot)) tried.push(slot)
    return tried
  }

  private enroll(path: string, member: Member<T>, problems: string[]): void {
    const { roster, breakers } = this
    const before = problems.length
    const own = readMember(path, member, this.settings.breaker, this.isTaken, problems)
    if (problems.length > before) return
    const slot = roster.add(member)
    if (own !== undefined) breakers.own.set(slot, own)
    this.availability.join(slot)
  }

  private slotOf(id: string): number {
    const slot = this.roster.slotOf(id)
    if (slot !== undefined) return slot
    const message = `the pool ${this.id} has no member ${show(id)}`
    throw new HoldfastError('INVALID_OPTIONS', message, { details: [message] })
  }

  private hear(slot: number, event: BreakerEvent | undefined): void {
    if (event !== undefined) this.judge.hear(slot, event)
    this.availability.changed(slot)
    if (event === undefined) return
    this.listeners.emit({ type: 'breaker_changed', memberId: this.roster.member(slot).id, ...event })
  }

  private tell(change: 'added' | 'removed' | 'drained' | 'enabled', memberId: string): void {
    if (this.listeners.size === 0) return
    this.listeners.emit({ type: 'member_changed', change, memberId, timestamp: this.settings.clock.wall() })
  }
}
