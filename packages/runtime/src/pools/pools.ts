import {
  type BreakerOptions,
  type Clock,
  HoldfastError,
  type Member,
  Pool,
  type PoolEvent,
  type Random,
} from 'holdfast'
import { stateOf } from '../breakers/registry.js'
import { type LayeredMember, type MemberEntry, memberId } from '../config/layer/members.js'
import type { BreakerEntry, Config } from '../config/schema/schema.js'
import type { CircuitBreakerState } from '../records/breaker.js'
import type { StoredBreaker } from '../store/store.js'
import { MemberTarget } from './target.js'

export type PoolEntry = NonNullable<Config['pools']>[string]

/** Statuses that speak of a proxy rather than of the request. */
const PROXY_FAULTS = [403, 407, 429, 451]

/** The engine's options of a breaker of the file. */
export function breakerOptions(entry: BreakerEntry = {}): BreakerOptions {
  const { persistState: _, share: __, quorum: ___, ...options } = entry
  return options as BreakerOptions
}

interface Held {
  pool: Pool<MemberTarget>
  entry: PoolEntry
  /** The members that the configuration has, each as it is written there. */
  readonly listed: Map<string, MemberEntry>
  /** Those of them that it sends no calls to. */
  readonly disabled: Set<string>
  off: () => void
}

export interface PoolSetOptions {
  clock: Clock
  random: Random
  /** Told what happens in a pool. */
  heard(pool: Pool<MemberTarget>, event: PoolEvent, persist: boolean): void
  /** What was saved of a breaker. */
  recall(id: string): StoredBreaker['snapshot'] | undefined
  /** When breakers opened that are not closed. */
  openings: ReadonlyMap<string, number>
}

const isSame = (a: MemberEntry, b: MemberEntry) => a === b || JSON.stringify(a) === JSON.stringify(b)

function memberOf(entry: MemberEntry, value = new MemberTarget(entry.url)): Member<MemberTarget> {
  const { id: _, url: __, circuitBreaker, ...rest } = entry
  const member = { ...rest, id: memberId(entry), value }
  return (
    circuitBreaker ? { ...member, breaker: breakerOptions(circuitBreaker) } : member
  ) as Member<MemberTarget>
}

/** How a pool chooses, and what it makes of answers. */
const shapeOf = ({ strategy, maxEjected, memberFaults }: PoolEntry) => ({
  memberFaults: memberFaults ?? PROXY_FAULTS,
  ...(strategy && { strategy }),
  ...(maxEjected !== undefined && { maxEjected }),
})

const isOther = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b)

/** The pools of the file. A change of the file changes them in place, and what they know of their members stays. */
export class PoolSet {
  private readonly held = new Map<string, Held>()
  private readonly options: PoolSetOptions
  private readonly since: Date

  constructor(options: PoolSetOptions) {
    this.options = options
    this.since = new Date(options.clock.wall())
  }

  get(id: string): Pool<MemberTarget> {
    const held = this.held.get(id)
    if (held !== undefined) return held.pool
    const known = [...this.held.keys()].join(', ') || 'none'
    throw new HoldfastError(
      'INVALID_OPTIONS',
      `pool: there is no pool ${id} under pools; there are: ${known}`,
    )
  }

  list(): Pool<MemberTarget>[] {
    return [...this.held.values()].map(({ pool }) => pool)
  }

  has(id: string): boolean {
    return this.held.has(id)
  }

  /** Brings the pools to what the configuration says; `membersOf` tells who is in each. */
  apply(
    pools: Readonly<Record<string, PoolEntry>>,
    membersOf: (pool: string) => readonly LayeredMember[],
  ): void {
    for (const [id, held] of this.held)
      if (!Object.hasOwn(pools, id)) {
        held.off()
        this.held.delete(id)
      }
    for (const [id, entry] of Object.entries(pools)) {
      const members = membersOf(id)
      const held = this.held.get(id)
      if (held === undefined) this.held.set(id, this.make(id, entry, members))
      else this.change(held, entry, members)
    }
  }

  /** Where the breaker of one member stands. */
  state(pool: Pool<MemberTarget>, member: string): CircuitBreakerState {
    return stateOf(pool.breaker(member), { pool: pool.id, member }, this.since, this.options.openings)
  }

  /** The pools whose breakers outlive the process. */
  *persisted(): Iterable<Pool<MemberTarget>> {
    for (const { pool, entry } of this.held.values()) if (entry.circuitBreaker?.persistState) yield pool
  }

  private make(id: string, entry: PoolEntry, members: readonly LayeredMember[]): Held {
    const { clock, random, heard } = this.options
    const pool = new Pool<MemberTarget>({
      id,
      members: members.map((member) => memberOf(member.entry)),
      breaker: breakerOptions(entry.circuitBreaker),
      clock,
      random,
      ...shapeOf(entry),
    })
    const held: Held = { pool, entry, listed: new Map(), disabled: new Set(), off: () => {} }
    for (const member of members) held.listed.set(memberId(member.entry), member.entry)
    for (const { id: member } of pool.members()) this.restore(pool, entry, member)
    switchOnAndOff(held, members)
    held.off = pool.on((event) => heard(pool, event, held.entry.circuitBreaker?.persistState ?? false))
    return held
  }

  /** Puts a member's breaker where it was saved. */
  private restore(pool: Pool<MemberTarget>, entry: PoolEntry, member: string): void {
    if (!entry.circuitBreaker?.persistState) return
    const saved = this.options.recall(`pool:${encodeURIComponent(pool.id)}:${encodeURIComponent(member)}`)
    if (saved !== undefined) pool.restoreBreaker(member, saved)
  }

  private change(held: Held, entry: PoolEntry, members: readonly LayeredMember[]): void {
    const { pool, listed, entry: before } = held
    held.entry = entry
    if (isOther(shapeOf(before), shapeOf(entry))) pool.updateStrategy(shapeOf(entry))
    if (isOther(before.circuitBreaker, entry.circuitBreaker))
      pool.reconfigure(breakerOptions(entry.circuitBreaker))
    const wanted = new Map(members.map((member) => [memberId(member.entry), member.entry]))
    const present = new Map(pool.members().map((member) => [member.id, member.value]))
    for (const [id, known] of listed) {
      const want = wanted.get(id)
      if (want !== undefined && isSame(want, known)) continue
      listed.delete(id)
      const value = present.get(id)
      if (value === undefined) continue
      // What is known of a member stays with it, unless it is another one under the same name.
      if (want?.url === value.url) pool.updateMember(memberOf(want, value))
      else {
        pool.remove(id)
        present.delete(id)
      }
    }
    for (const [id, member] of wanted) {
      if (listed.has(id)) continue
      listed.set(id, member)
      if (present.has(id)) continue
      pool.add(memberOf(member))
      this.restore(pool, entry, id)
    }
    switchOnAndOff(held, members)
  }
}

/** Sends no calls to those whom the configuration says so of, and calls again to those it says so of no more. */
function switchOnAndOff({ pool, disabled }: Held, members: readonly LayeredMember[]): void {
  const off = new Set(members.filter(({ isInUse }) => !isInUse).map(({ entry }) => memberId(entry)))
  if (off.size === 0 && disabled.size === 0) return
  const known = new Set(members.map(({ entry }) => memberId(entry)))
  for (const id of disabled)
    if (!off.has(id)) {
      disabled.delete(id)
      if (known.has(id)) pool.enable(id)
    }
  for (const id of off) {
    if (disabled.has(id) && pool.status(id) === 'drained') continue
    disabled.add(id)
    pool.drain(id)
  }
}
