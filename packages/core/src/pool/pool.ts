import type { BreakerEvent, CircuitBreaker } from '../breaker/breaker.js'
import { BREAKER_DEFAULTS, type BreakerOptions, parseBreakerOptions } from '../breaker/options.js'
import type { BreakerSnapshot } from '../breaker/snapshot.js'
import { HoldfastError } from '../errors.js'
import { makeInspectable } from '../inspect.js'
import { Listeners } from '../listeners.js'
import { formatValue, type OptionProblem, throwIfInvalid } from '../options.js'
import { isInstanceOfAnyCopy } from '../shared-registry.js'
import { Availability, type MemberStatus } from './availability.js'
import type { PoolCoordinator } from './coordinator.js'
import { createNetworkDownError, createPoolUnavailableError } from './errors.js'
import type { PoolEvent } from './events.js'
import type { Member } from './members/member.js'
import { MemberBreakers } from './members/member-breakers.js'
import type { MemberStats } from './members/member-counters.js'
import type { MemberPool, Selection, SelectionOutcome } from './members/member-pool.js'
import { retainSelectionShape, SlotSelection } from './members/slot-selection.js'
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

/** Grows with each change of the methods that a guard calls. */
const POOL_VERSION = 1

/**
 * Interchangeable members, one of which is selected for each attempt: in turn, at random, by score, by session and so on.
 * Each member has its own breaker, which is created when it is first needed. A member whose breaker is open is not selected
 * until the open duration has passed. In a guard, an attempt is sent to a member that the call has not tried, while one is
 * available.
 *
 * When no member is available, calls are rejected at once with POOL_UNAVAILABLE, whose `retryAfter` is the time until the
 * first can be available. When most members fail because of the local network, calls are rejected with NETWORK_DOWN, and
 * these failures do not count against the members. A member that responds with 429 gets a cooldown of the time it requests, or of
 * `timeoutDuration`, and the 429 does not count as a failure.
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
  /** The name of the pool in errors and in the ids of its breakers. */
  readonly id: string
  private readonly settings: PoolSettings<T>
  private readonly slotTable = new SlotTable<T>()
  private readonly breakers: MemberBreakers
  private readonly availability: Availability
  private readonly recorder: OutcomeRecorder<T>
  private readonly listeners = new Listeners<PoolEvent>('a pool')
  private readonly isTaken = (id: string): boolean => this.slotTable.slotOf(id) !== undefined

  /** @internal The version of the methods that a guard calls, which can be that of another copy of this package. */
  get poolVersion(): number {
    return POOL_VERSION
  }

  /** Makes `instanceof` true for pools of another copy of the package, such as its CommonJS form. */
  static [Symbol.hasInstance](value: unknown): boolean {
    return isInstanceOfAnyCopy(this, 'poolVersion', value)
  }

  /** @throws INVALID_OPTIONS that lists all problems of the options and the members */
  constructor(options: PoolOptions<T>) {
    const problems: OptionProblem[] = []
    const settings = parsePoolOptions(options, problems)
    const { slotTable } = this
    const { id, breaker } = settings
    this.id = id
    this.settings = settings
    this.breakers = slotTable.register(
      new MemberBreakers(id, breaker, slotTable, (slot, event) => this.onBreakerChanged(slot, event)),
    )
    const recorder = new OutcomeRecorder(settings, slotTable, this.breakers, (event) =>
      this.listeners.emit(event),
    )
    this.recorder = recorder
    this.availability = slotTable.register(
      new Availability(slotTable, this.breakers, () => this.createStrategy(), settings),
    )
    recorder.availability = this.availability
    settings.members.forEach((member, i) => this.addMember(`members.${i}`, member, problems))
    throwIfInvalid(id === undefined ? 'a pool' : `the pool ${id}`, problems)
    retainSelectionShape()
    makeInspectable(this, 'Pool', (pool) => ({
      id: pool.id,
      strategy: pool.settings.strategy,
      size: pool.size,
    }))
  }

  /** The number of members. */
  get size(): number {
    return this.slotTable.size
  }

  /** All members, in the order of their slots: a new member gets the slot that was freed last, if there is one. */
  members(): Member<T>[] {
    return this.slotTable.members()
  }

  /**
   * Selects the member that a call with this context would be sent to now; undefined when none is available. The selection
   * counts for strategies such as `round_robin` and `least_used`, but is not an attempt: it acquires no permit of the breaker
   * and expects no outcome.
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
   * The breaker of a member.
   *
   * @throws INVALID_OPTIONS if the pool has no member with this id
   */
  breaker(id: string): CircuitBreaker {
    return this.breakers.get(this.slotOf(id))
  }

  /**
   * Statistics of the attempts of a member.
   *
   * @throws INVALID_OPTIONS if the pool has no member with this id
   */
  stats(id: string): MemberStats {
    return this.recorder.statsOf(this.slotOf(id), id)
  }

  /**
   * The status of a member. A member whose breaker is open remains `open` until a probe starts, even if the open duration has
   * passed.
   *
   * @throws INVALID_OPTIONS if the pool has no member with this id
   */
  status(id: string): MemberStatus {
    return this.availability.statusOf(this.slotOf(id))
  }

  /**
   * Adds a member.
   *
   * @throws INVALID_OPTIONS that lists all problems of the member, including an id that is already in use
   */
  add(member: Member<T>): void {
    const problems: OptionProblem[] = []
    this.addMember('member', member, problems)
    throwIfInvalid(`a member of the pool ${this.id}`, problems)
    this.emitChange('added', member.id)
  }

  /**
   * Removes a member. Its attempts in flight continue, but their outcomes are ignored.
   *
   * @throws INVALID_OPTIONS if the pool has no member with this id
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
   * Stops the selection of a member until it is enabled. Its attempts in flight continue and count as usual.
   *
   * @throws INVALID_OPTIONS if the pool has no member with this id
   */
  drain(id: string): void {
    if (this.availability.drain(this.slotOf(id))) this.emitChange('drained', id)
  }

  /**
   * Ends the draining and the cooldown of a member. The state of its breaker does not change.
   *
   * @throws INVALID_OPTIONS if the pool has no member with this id
   */
  enable(id: string): void {
    const { availability, recorder } = this
    const slot = this.slotOf(id)
    const wasCoolingDown = availability.endCooldown(slot)
    const wasDrained = availability.enable(slot)
    if (wasCoolingDown) recorder.coordinator?.onCooldownEnded(id)
    if (wasCoolingDown || wasDrained) this.emitChange('enabled', id)
  }

  /** Calls `listener` at every change of a member, its breaker or the network. Returns a function that unsubscribes it. */
  on(listener: (event: PoolEvent) => void): () => void {
    return this.listeners.add(listener)
  }

  /**
   * @internal Replaces the breaker options of the pool. The breakers keep their states. Members with options of their own keep
   * their settings until {@link Pool.updateMember} is called, because a reload can change the options of both.
   */
  reconfigure(options: BreakerOptions): void {
    const problems: OptionProblem[] = []
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
   * @internal Replaces the strategy, the limit of ejected members and the member faults; an omitted option is set to its
   * default. Statistics and breakers remain; only the measurements that the previous strategy used are deleted.
   */
  updateStrategy(options: PoolUpdate): void {
    const problems: OptionProblem[] = []
    const { id, settings, recorder, availability } = this
    const { strategy, maxEjected, memberFaults } = parsePoolOptions({ ...options, id }, problems)
    throwIfInvalid(`the pool ${id}`, problems)
    Object.assign(settings, { strategy, maxEjected, memberFaults })
    recorder.updateStrategy()
    availability.updateStrategy(() => this.createStrategy(), maxEjected)
  }

  /** @internal Replaces the properties of the member with that id. Its statistics and its breaker remain. */
  updateMember(member: Member<T>): void {
    const problems: OptionProblem[] = []
    const { breakers, slotTable, availability, settings } = this
    const slot = this.slotOf(member.id)
    const memberSettings = parseMember('member', member, settings.breaker, () => false, problems)
    throwIfInvalid(`a member of the pool ${this.id}`, problems)
    availability.updateMember(slot, () => slotTable.replace(slot, member))
    breakers.updateSettings(slot, memberSettings)
    availability.onBreakerChanged(slot)
  }

  /** @internal Sets the coordinator that sends cooldowns to the same pool on other nodes; undefined removes it. */
  setCoordinator(coordinator: PoolCoordinator | undefined): void {
    this.recorder.coordinator = coordinator
  }

  /**
   * @internal Starts a cooldown of a member that was requested on another node. Returns whether the cooldown now ends later
   * than before; false also if the pool has no member with this id.
   */
  startCooldown(id: string, ms: number): boolean {
    const slot = this.slotTable.slotOf(id)
    return slot !== undefined && this.recorder.startCooldown(slot, ms)
  }

  /** @internal Ends a cooldown of a member that was ended on another node; returns whether it had one. */
  endCooldown(id: string): boolean {
    const slot = this.slotTable.slotOf(id)
    if (slot === undefined || !this.availability.endCooldown(slot)) return false
    this.emitChange('enabled', id)
    return true
  }

  /** @internal The remaining milliseconds of the cooldown of a member; 0 if it has none. */
  cooldownRemaining(id: string): number {
    return Math.max(0, this.availability.cooldownUntil(this.slotOf(id)) - this.settings.clock.now())
  }

  /** @internal The breakers that have been created. */
  usedBreakers(): CircuitBreaker[] {
    return this.breakers.all()
  }

  /** @internal Restores the breaker of a member from a snapshot. */
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
    // The call does not fail over when it has tried every member.
    return isMemberFault && this.triedSlots(selections as SlotSelection<T>[]).length < this.size
  }

  /** @internal */
  createUnavailableError(): HoldfastError {
    const now = this.settings.clock.now()
    const { id, size, recorder, availability } = this
    if (recorder.isNetworkDown(now)) return createNetworkDownError(id, recorder.timeUntilProbe(now))
    return createPoolUnavailableError(id, size, Math.max(0, availability.nextAvailableAt(now) - now))
  }

  private createStrategy(): SelectionStrategy {
    const { recorder, slotTable, settings } = this
    const { random, strategy } = settings
    const { latencyAverages, scores } = recorder
    return createStrategy(strategy as Chooser, { random, slotTable, latencyAverages, scores })
  }

  /** Acquires a permit of the breaker of the selected slot. Returns false if the slot turns out to be unavailable. */
  private acquirePermit(selection: SlotSelection<T>, lease: number | undefined, now: number): boolean {
    const { availability, breakers, slotTable } = this
    const { slot } = selection
    const breaker = breakers.forCall(slot)
    if (breaker === undefined) return true
    const isOverridden = availability.ignoresBreaker(slot)
    const isAdmitted = breaker.tryAcquire(selection, lease, now)
    // A listener that was notified of the probe can have removed the member.
    if (selection.generation !== slotTable.generation(slot)) return false
    if (breaker.currentState !== 'closed') availability.refresh(slot, now)
    if (!isAdmitted && !isOverridden) return false
    selection.admittedEpoch = isAdmitted ? selection.epoch : -1
    return true
  }

  /** The slots of the members that a call has tried, without duplicates and without removed members. */
  private triedSlots(selections: readonly SlotSelection<T>[]): number[] {
    const tried: number[] = []
    for (const { slot, generation } of selections)
      if (generation === this.slotTable.generation(slot) && !tried.includes(slot)) tried.push(slot)
    return tried
  }

  private addMember(path: string, member: Member<T>, problems: OptionProblem[]): void {
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
