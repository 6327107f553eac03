import {
  breakerEntryOptions,
  CONFIG_DEFAULTS,
  type Config,
  type LayeredMember,
  type MemberEntry,
  memberId,
} from '@holdfast/config'
import type { CircuitBreakerState } from '@holdfast/records'
import type { StoredBreaker } from '@holdfast/store'
import {
  type Clock,
  HoldfastError,
  isHoldfastError,
  type Member,
  Pool,
  type PoolEvent,
  type Random,
} from 'holdfast'
import { type OpeningDetails, toBreakerRecord } from '../breakers/breaker-records.js'
import type { BreakerPool, BreakerPools } from '../breakers/member-breakers.js'
import { MemberTarget } from './target.js'

export type PoolEntry = NonNullable<Config['pools']>[string]

interface ManagedPool {
  pool: Pool<MemberTarget>
  entry: PoolEntry
  /** The members of the configuration, with their entries. */
  readonly configuredMembers: Map<string, MemberEntry>
  /** The members among them that are disabled by the configuration. */
  readonly disabledMembers: Set<string>
  unsubscribe: () => void
}

export interface PoolManagerOptions {
  clock: Clock
  random: Random
  /** Receives the events of a pool. */
  onPoolEvent(pool: Pool<MemberTarget>, event: PoolEvent, shouldPersist: boolean): void
  /** The saved snapshot of a breaker. */
  savedSnapshot(id: string): StoredBreaker['snapshot'] | undefined
  /** The opening of each breaker that is not closed. */
  openings: Map<string, OpeningDetails>
}

/** Whether two entries are equal. Most of their fields are no objects, so that thousands of entries are compared within 2 ms. */
function isSameEntry(a: MemberEntry, b: MemberEntry): boolean {
  if (a === b) return true
  const keys = Object.keys(a) as (keyof MemberEntry)[]
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => a[key] === b[key] || (typeof a[key] === 'object' && !isDifferent(a[key], b[key])))
  )
}

function createMember(entry: MemberEntry, value = new MemberTarget(entry.url)): Member<MemberTarget> {
  const { id: _, url: __, circuitBreaker, ...rest } = entry
  const member = { ...rest, id: memberId(entry), value }
  return (
    circuitBreaker ? { ...member, breaker: breakerEntryOptions(circuitBreaker) } : member
  ) as Member<MemberTarget>
}

/** The settings of a pool that can be changed in place. */
const poolUpdateOf = ({ strategy, maxEjected, memberFaults }: PoolEntry) => ({
  memberFaults: memberFaults ?? CONFIG_DEFAULTS.pool.memberFaults,
  ...(strategy && { strategy }),
  ...(maxEjected !== undefined && { maxEjected }),
})

const isDifferent = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b)

/** The pools of the configuration. A reload changes them in place, so that they keep the state of their members. */
export class PoolManager implements BreakerPools {
  private readonly managed = new Map<string, ManagedPool>()
  private readonly options: PoolManagerOptions
  private readonly createdAt: Date

  constructor(options: PoolManagerOptions) {
    this.options = options
    this.createdAt = new Date(options.clock.wall())
  }

  get(id: string): Pool<MemberTarget> {
    const managed = this.managed.get(id)
    if (managed !== undefined) return managed.pool
    const knownIds = [...this.managed.keys()].join(', ') || 'none'
    throw new HoldfastError('INVALID_OPTIONS', `pool: expected an id under pools (${knownIds}), got ${id}`)
  }

  list(): Pool<MemberTarget>[] {
    return [...this.managed.values()].map(({ pool }) => pool)
  }

  has(id: string): boolean {
    return this.managed.has(id)
  }

  /** Applies the configuration to the pools; `membersOf` returns the members of each. */
  apply(
    pools: Readonly<Record<string, PoolEntry>>,
    membersOf: (pool: string) => readonly LayeredMember[],
  ): void {
    for (const [id, managed] of this.managed)
      if (!Object.hasOwn(pools, id)) {
        managed.unsubscribe()
        this.managed.delete(id)
        for (const breaker of managed.pool.usedBreakers()) this.options.openings.delete(breaker.id)
      }
    for (const [id, entry] of Object.entries(pools)) {
      const members = membersOf(id)
      const managed = this.managed.get(id)
      if (managed === undefined) this.managed.set(id, this.createPool(id, entry, members))
      else this.updatePool(managed, entry, members)
    }
  }

  /** The record of a member's breaker. */
  breakerRecord(pool: BreakerPool, member: string): CircuitBreakerState {
    return toBreakerRecord(
      pool.breaker(member),
      { pool: pool.id, member },
      this.createdAt,
      this.options.openings,
    )
  }

  /** The pools whose breakers are saved. */
  *persistedPools(): Iterable<Pool<MemberTarget>> {
    for (const { pool, entry } of this.managed.values()) if (entry.circuitBreaker?.persistState) yield pool
  }

  private createPool(id: string, entry: PoolEntry, members: readonly LayeredMember[]): ManagedPool {
    const { clock, random, onPoolEvent } = this.options
    const pool = new Pool<MemberTarget>({
      id,
      members: members.map((member) => createMember(member.entry)),
      breaker: breakerEntryOptions(entry.circuitBreaker),
      clock,
      random,
      ...poolUpdateOf(entry),
    })
    const managed: ManagedPool = {
      pool,
      entry,
      configuredMembers: new Map(),
      disabledMembers: new Set(),
      unsubscribe: () => {},
    }
    for (const member of members) managed.configuredMembers.set(memberId(member.entry), member.entry)
    for (const { id: member } of pool.members()) this.restoreBreaker(pool, entry, member)
    applyEnabled(managed, members)
    managed.unsubscribe = pool.on((event) =>
      onPoolEvent(pool, event, managed.entry.circuitBreaker?.persistState ?? false),
    )
    return managed
  }

  /** Restores the saved state of a member's breaker. */
  private restoreBreaker(pool: Pool<MemberTarget>, entry: PoolEntry, member: string): void {
    if (!entry.circuitBreaker?.persistState) return
    const saved = this.options.savedSnapshot(
      `pool:${encodeURIComponent(pool.id)}:${encodeURIComponent(member)}`,
    )
    if (saved !== undefined) pool.restoreBreaker(member, saved)
  }

  private updatePool(managed: ManagedPool, entry: PoolEntry, members: readonly LayeredMember[]): void {
    const { pool, configuredMembers, entry: before } = managed
    managed.entry = entry
    if (isDifferent(poolUpdateOf(before), poolUpdateOf(entry))) pool.updateStrategy(poolUpdateOf(entry))
    const hasNewBreaker = isDifferent(before.circuitBreaker, entry.circuitBreaker)
    if (hasNewBreaker) pool.reconfigure(breakerEntryOptions(entry.circuitBreaker))
    const wanted = new Map(members.map((member) => [memberId(member.entry), member.entry]))
    const present = new Map(pool.members().map((member) => [member.id, member.value]))
    for (const [id, known] of configuredMembers) {
      const want = wanted.get(id)
      if (want !== undefined && isSameEntry(want, known)) continue
      configuredMembers.delete(id)
      const value = present.get(id)
      if (value === undefined) continue
      // A member keeps its state, unless its url changed and it is another member with the same id.
      if (want?.url === value.url) pool.updateMember(createMember(want, value))
      else {
        pool.remove(id)
        present.delete(id)
      }
    }
    for (const [id, member] of wanted) {
      if (configuredMembers.has(id)) continue
      configuredMembers.set(id, member)
      if (present.has(id)) continue
      pool.add(createMember(member))
      this.restoreBreaker(pool, entry, id)
    }
    // A member that overrides some options of the breaker has the others from the pool.
    if (hasNewBreaker)
      for (const member of pool.members())
        if (member.breaker !== undefined) updateBreaker(pool, member, configuredMembers.get(member.id))
    applyEnabled(managed, members)
  }
}

/**
 * Applies the breaker options of a pool to a member that overrides some of them. The options of a member that was added in code can
 * contradict those of the file: it keeps its settings. @throws INVALID_OPTIONS if those of the configuration contradict each other
 */
function updateBreaker(
  pool: Pool<MemberTarget>,
  member: Member<MemberTarget>,
  configured: MemberEntry | undefined,
): void {
  try {
    pool.updateMember(member)
  } catch (error) {
    const options = configured?.circuitBreaker
    // A member that was added in code can have the id of a configured one.
    const isConfigured = options !== undefined && !isDifferent(breakerEntryOptions(options), member.breaker)
    if (isConfigured || !isHoldfastError(error, 'INVALID_OPTIONS')) throw error
  }
}

/** Drains the members that the configuration disables, and enables those that it no longer disables. */
function applyEnabled({ pool, disabledMembers }: ManagedPool, members: readonly LayeredMember[]): void {
  const disabled = new Set(members.filter(({ isInUse }) => !isInUse).map(({ entry }) => memberId(entry)))
  if (disabled.size === 0 && disabledMembers.size === 0) return
  const known = new Set(members.map(({ entry }) => memberId(entry)))
  for (const id of disabledMembers)
    if (!disabled.has(id)) {
      disabledMembers.delete(id)
      if (known.has(id)) pool.enable(id)
    }
  for (const id of disabled) {
    if (disabledMembers.has(id) && pool.status(id) === 'drained') continue
    disabledMembers.add(id)
    pool.drain(id)
  }
}
