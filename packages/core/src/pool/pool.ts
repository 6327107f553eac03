import type { BreakerEvent, CircuitBreaker } from '../breaker/breaker.js'
import { BREAKER_DEFAULTS, type BreakerOptions, parseBreakerOptions } from '../breaker/options.js'
import type { BreakerSnapshot } from '../breaker/snapshot.js'
import { HoldfastError } from '../errors.js'
import { formatInstance, INSPECT, type Inspect } from '../inspect.js'
import { Listeners } from '../listeners.js'
import { formatValue, throwIfInvalid } from '../options.js'
import { Availability, type MemberStatus } from './availability.js'
import type { PoolCoordinator } from './coordinator.js'
import { createNetworkDownError, createPoolUnavailableError } from './errors.js'
import type { PoolEvent } from './events.js'
import type { Member } from './members/member.js'
import { MemberBreakers } from './members/member-breakers.js'
import type { MemberStats } from './members/member-counters.js'
import type { MemberPool, Selection, SelectionOutcome } from './members/member-pool.js'
import { keepTakenShape, SlotSelection } from './members/slot-selection.js'
import { SlotTable } from './members/slot-table.js'
import {
  type PoolOptions,
  type PoolSettings,
  type PoolUpdate,
  parseMember,
  parsePoolOptions,
} from './options.js'
import { OutcomeRecorder } from './outcome-recorder.js'
import type { Chooser } from './strategies/function.js'
import { createStrategy } from './strategies/index.js'
import type { SelectionStrategy } from './strategies/strategy.js'

const NO_SLOTS: readonly number[] = []

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
export class Pool<T = unknown> implements MemberPool<T> {
  /** What it is called in errors and in the ids of its breakers. */
  readonly id: string
  private readonly settings: PoolSettings<T>
  private readonly slotTable = new SlotTable<T>()
  private readonly breakers: MemberBreakers
  private readonly availability: Availability
  private readonly recorder: OutcomeRecorder<T>
  private readonly listeners = new Listeners<PoolEvent>('a pool')
  private readonly isTaken = (id: string): boolean => this.slotTable.slotOf(id) !== undefined

  /** @throws INVALID_OPTIONS that lists everything wrong with the options and the members */
  constructor(options: PoolOptions<T>) {
    const problems: string[] = []
    const settings = parsePoolOptions(options, problems)
    const { slotTable } = this
    const { id, breaker } = settings
    this.id = id
    this.settings = settings
    this.breakers = slotTable.register(
      new MemberBreakers(id, breaker, slotTable, (slot, event) => this.onBreakerChanged(slot, event)),
    )
    const judge = new OutcomeRecorder(settings, slotTable, this.breakers, (event) =>
      this.listeners.emit(event),
    )
    this.recorder = judge
    this.availability = slotTable.register(
      new Availability(slotTable, this.breakers, () => this.createStrategy(), settings),
    )
    judge.availability = this.availability
    settings.members.forEach((member, i) => this.addMember(`members.${i}`, member, problems))
    throwIfInvalid(id === undefined ? 'a pool' : `the pool ${id}`, problems)
    keepTakenShape()
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    const { id, size, settings } = this
    const { strategy } = settings
    return formatInstance('Pool', { id, strategy, size }, options, inspect)
  }

  /** How many members it has. */
  get size(): number {
    return this.slotTable.size
  }

  /** All members, in the order of their places: a new one takes the place that was left last, where there is one. */
  members(): Member<T>[] {
    return this.slotTable.members()
  }

  /**
   * The member that a call with this context would go to now; undefined where nobody is available. It counts as a turn and
   * as a use of the member, but not as a call: no breaker is asked, none is tested, and no result is expected.
   */
  pick(context?: unknown): Member<T> | undefined {
    const { availability, slotTable, settings } = this
    const now = settings.clock.now()
    const slot = this.recorder.isNetworkDown(now) ? -1 : availability.chooseSlot(NO_SLOTS, context, now)
    if (slot < 0) return undefined
    availability.onSelected(slot)
    return slotTable.member(slot)
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
    return this.recorder.stats(this.slotOf(id), id)
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
    this.addMember('member', member, problems)
    throwIfInvalid(`a member of the pool ${this.id}`, problems)
    this.emitChange('added', member.id)
  }

  /**
   * Lets a member go. Its calls in flight end as they will and count for nothing.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  remove(id: string): void {
    const slot = this.slotOf(id)
    this.availability.removeSlot(slot)
    this.recorder.clear(slot)
    this.breakers.clear(slot)
    this.slotTable.remove(slot)
    this.emitChange('removed', id)
  }

  /**
   * Sends no new calls to a member until it is enabled; those in flight end and count as usual.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  drain(id: string): void {
    if (this.availability.drain(this.slotOf(id))) this.emitChange('drained', id)
  }

  /**
   * Sends calls to a member again that was drained or rests. Its breaker is left as it is.
   *
   * @throws INVALID_OPTIONS where there is no such member
   */
  enable(id: string): void {
    const { availability, recorder } = this
    const slot = this.slotOf(id)
    const wasCoolingDown = availability.endCooldown(slot)
    const wasDrained = availability.enable(slot)
    if (wasCoolingDown) recorder.coordinator?.onCooldownEnded(id)
    if (wasCoolingDown || wasDrained) this.emitChange('enabled', id)
  }

  /** Tells `listener` of every change of a member, its breaker or the network, until the function it returns is called. */
  on(listener: (event: PoolEvent) => void): () => void {
    return this.listeners.add(listener)
  }

  /** @internal Goes by other settings for its members' breakers, which stay where they are. */
  reconfigure(options: BreakerOptions): void {
    const problems: string[] = []
    const { settings, breakers, slotTable, availability } = this
    const breaker = parseBreakerOptions(
      'breaker',
      options,
      { ...BREAKER_DEFAULTS, clock: settings.clock },
      problems,
    )
    throwIfInvalid(`the pool ${this.id}`, problems)
    settings.breaker = breaker
    breakers.reconfigure(breaker)
    for (const { id } of slotTable.members()) availability.onBreakerChanged(this.slotOf(id))
  }

  /**
   * @internal Goes by another strategy, another share that may be set aside and other faults of members; those left out are
   * the defaults. What it knows of its members stays, but for what another strategy chose by.
   */
  updateStrategy(options: PoolUpdate): void {
    const problems: string[] = []
    const { id, settings, recorder, availability } = this
    const { strategy, maxEjected, memberFaults } = parsePoolOptions({ ...options, id }, problems)
    throwIfInvalid(`the pool ${id}`, problems)
    Object.assign(settings, { strategy, maxEjected, memberFaults })
    recorder.updateStrategy()
    availability.updateStrategy(() => this.createStrategy(), maxEjected)
  }

  /** @internal Takes other words about the member of that id, which is the same one still: what is known of it stays. */
  updateMember(member: Member<T>): void {
    const problems: string[] = []
    const { breakers, slotTable, availability, settings } = this
    const slot = this.slotOf(member.id)
    const memberSettings = parseMember('member', member, settings.breaker, () => false, problems)
    throwIfInvalid(`a member of the pool ${this.id}`, problems)
    availability.updateMember(slot, () => slotTable.replace(slot, member))
    breakers.updateSettings(slot, memberSettings)
    availability.onBreakerChanged(slot)
  }

  /** @internal Tells the same pool elsewhere of its members' rests, by `coordinator`; undefined ends that. */
  setCoordinator(coordinator: PoolCoordinator | undefined): void {
    this.recorder.coordinator = coordinator
  }

  /**
   * @internal Leaves a member alone for so many milliseconds because that was asked for elsewhere. Tells whether it rests for
   * longer now than it would have; false too where there is no such member (any more).
   */
  startCooldown(id: string, ms: number): boolean {
    const slot = this.slotTable.slotOf(id)
    return slot !== undefined && this.recorder.startCooldown(slot, ms)
  }

  /** @internal Ends the rest of a member because it was ended elsewhere; tells whether it had one. */
  endCooldown(id: string): boolean {
    const slot = this.slotTable.slotOf(id)
    if (slot === undefined || !this.availability.endCooldown(slot)) return false
    this.emitChange('enabled', id)
    return true
  }

  /** @internal How many milliseconds of its rest a member has left; 0 where it does not rest. */
  cooldownRemaining(id: string): number {
    return Math.max(0, this.availability.cooldownUntil(this.slotOf(id)) - this.settings.clock.now())
  }

  /** @internal The breakers that anything has happened to. */
  usedBreakers(): CircuitBreaker[] {
    return this.breakers.all()
  }

  /** @internal Puts a member's breaker where a snapshot's was. */
  restoreBreaker(id: string, snapshot: BreakerSnapshot): void {
    this.breakers.restore(this.slotOf(id), snapshot)
  }

  /** @internal */
  select(
    context: unknown,
    selections: readonly Selection<T>[],
    lease: number | undefined,
  ): Selection<T> | undefined {
    const { availability, slotTable, recorder, settings } = this
    const now = settings.clock.now()
    if (!recorder.isCallAllowed(now)) return undefined
    const tried = selections.length === 0 ? NO_SLOTS : this.triedSlots(selections as SlotSelection<T>[])
    for (;;) {
      const slot = availability.chooseSlot(tried, context, now)
      if (slot < 0) return undefined
      const selection = new SlotSelection(slotTable.member(slot), slot, slotTable.generation(slot), now)
      if (!this.acquirePermit(selection, lease, now)) continue
      availability.onSelected(slot)
      return selection
    }
  }

  /** @internal */
  hasUntriedMember(selections: readonly Selection<T>[]): boolean {
    const now = this.settings.clock.now()
    return (
      !this.recorder.isNetworkDown(now) &&
      this.availability.hasUntriedMember(this.triedSlots(selections as SlotSelection<T>[]), now)
    )
  }

  /** @internal */
  recordOutcome(
    selection: Selection<T>,
    outcome: SelectionOutcome,
    selections: readonly Selection<T>[],
  ): boolean {
    const isMemberFault = this.recorder.recordOutcome(
      selection as SlotSelection<T>,
      outcome,
      selections as readonly SlotSelection<T>[],
    )
    // Nobody is left who could do better.
    return isMemberFault && this.triedSlots(selections as SlotSelection<T>[]).length < this.size
  }

  /** @internal */
  createUnavailableError(): HoldfastError {
    const now = this.settings.clock.now()
    const { id, size, recorder, availability } = this
    if (recorder.isNetworkDown(now)) return createNetworkDownError(id, recorder.retryAfter(now))
    return createPoolUnavailableError(id, size, Math.max(0, availability.nextAvailableAt(now) - now))
  }

  private createStrategy(): SelectionStrategy {
    const { recorder, slotTable, settings } = this
    const { random, strategy } = settings
    const { latencyAverages, scores } = recorder
    return createStrategy(strategy as Chooser, { random, slotTable, latencyAverages, scores })
  }

  /** Lets a call through the breaker of the slot that was chosen, or finds that the slot is out after all. */
  private acquirePermit(selection: SlotSelection<T>, lease: number | undefined, now: number): boolean {
    const { availability, breakers, slotTable } = this
    const { slot } = selection
    const breaker = breakers.forCall(slot)
    if (breaker === undefined) return true
    const isOverridden = availability.ignoresBreaker(slot)
    const isAdmitted = breaker.tryAcquire(selection, lease, now)
    // A listener that heard of the test may have removed the member.
    if (selection.generation !== slotTable.generation(slot)) return false
    if (breaker.currentState !== 'closed') availability.refresh(slot)
    if (!isAdmitted && !isOverridden) return false
    selection.admittedEpoch = isAdmitted ? selection.epoch : -1
    return true
  }

  /** The slots of the members that a call has tried, each once. */
  private triedSlots(selections: readonly SlotSelection<T>[]): number[] {
    const tried: number[] = []
    for (const { slot, generation } of selections)
      if (generation === this.slotTable.generation(slot) && !tried.includes(slot)) tried.push(slot)
    return tried
  }

  private addMember(path: string, member: Member<T>, problems: string[]): void {
    const { slotTable, breakers } = this
    const problemCount = problems.length
    const memberSettings = parseMember(path, member, this.settings.breaker, this.isTaken, problems)
    if (problems.length > problemCount) return
    const slot = slotTable.add(member)
    if (memberSettings !== undefined) breakers.memberSettings.set(slot, memberSettings)
    this.availability.addSlot(slot)
  }

  private slotOf(id: string): number {
    const slot = this.slotTable.slotOf(id)
    if (slot !== undefined) return slot
    const message = `the pool ${this.id} has no member ${formatValue(id)}`
    throw new HoldfastError('INVALID_OPTIONS', message, { details: [message] })
  }

  private onBreakerChanged(slot: number, event: BreakerEvent | undefined): void {
    if (event !== undefined) this.recorder.onBreakerChanged(slot, event)
    this.availability.onBreakerChanged(slot)
    if (event === undefined) return
    this.listeners.emit({ type: 'breaker_changed', memberId: this.slotTable.member(slot).id, ...event })
  }

  private emitChange(change: 'added' | 'removed' | 'drained' | 'enabled', memberId: string): void {
    if (this.listeners.size === 0) return
    this.listeners.emit({ type: 'member_changed', change, memberId, timestamp: this.settings.clock.wall() })
  }
}
