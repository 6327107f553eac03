import {
  type BreakerOptions,
  type CircuitBreaker,
  type Clock,
  HoldfastError,
  type Member,
  Pool,
  type PoolEvent,
  type Random,
} from 'holdfast'
import { stateOf } from '../breakers/registry.js'
import type { BreakerEntry, Config } from '../config/schema/schema.js'
import type { CircuitBreakerState } from '../records/breaker.js'
import type { StoredBreaker } from '../store/store.js'
import { MemberTarget } from './target.js'

export type PoolEntry = NonNullable<Config['pools']>[string]
export type MemberEntry = NonNullable<PoolEntry['members']>[number]

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
  /** The members that the file has, each as it is written there. */
  readonly listed: Map<string, string>
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

const idOf = (entry: MemberEntry) => entry.id ?? new URL(entry.url).host

function memberOf(entry: MemberEntry): Member<MemberTarget> {
  const { id: _, url, circuitBreaker, ...rest } = entry
  const member = { ...rest, id: idOf(entry), value: new MemberTarget(url) }
  return (
    circuitBreaker ? { ...member, breaker: breakerOptions(circuitBreaker) } : member
  ) as Member<MemberTarget>
}

/** Whether anything has happened to a breaker. */
const isUsed = (breaker: CircuitBreaker) =>
  breaker.lastFailureTime !== undefined || breaker.state !== 'closed'

/** What cannot be changed in a pool that is in use. */
const shapeOf = ({ strategy, maxEjected, memberFaults }: PoolEntry) =>
  JSON.stringify([strategy, maxEjected, memberFaults])

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

  /** Brings the pools to what the file says. `more` are the members of a pool that other files list. */
  apply(pools: Readonly<Record<string, PoolEntry>>, more: ReadonlyMap<string, readonly MemberEntry[]>): void {
    for (const [id, held] of this.held)
      if (!Object.hasOwn(pools, id)) {
        held.off()
        this.held.delete(id)
      }
    for (const [id, entry] of Object.entries(pools)) {
      const members = [...(entry.members ?? []), ...(more.get(id) ?? [])]
      const held = this.held.get(id)
      if (held === undefined) this.held.set(id, this.make(id, entry, members))
      else if (shapeOf(held.entry) !== shapeOf(entry))
        this.held.set(id, this.remake(id, entry, members, held))
      else this.change(held, entry, members)
    }
  }

  /** The breakers of all members, those that were never used too. */
  *states(poolId?: string): Iterable<CircuitBreakerState> {
    for (const { pool } of this.held.values()) {
      if (poolId !== undefined && pool.id !== poolId) continue
      for (const { id: member } of pool.members()) yield this.state(pool, member)
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

  private make(id: string, entry: PoolEntry, members: readonly MemberEntry[]): Held {
    const { clock, random, heard } = this.options
    const pool = new Pool<MemberTarget>({
      id,
      members: members.map(memberOf),
      breaker: breakerOptions(entry.circuitBreaker),
      memberFaults: entry.memberFaults ?? PROXY_FAULTS,
      clock,
      random,
      ...(entry.strategy && { strategy: entry.strategy }),
      ...(entry.maxEjected !== undefined && { maxEjected: entry.maxEjected }),
    })
    const held: Held = { pool, entry, listed: new Map(), off: () => {} }
    for (const member of members) held.listed.set(idOf(member), JSON.stringify(member))
    for (const { id: member } of pool.members()) this.restore(pool, entry, member)
    held.off = pool.on((event) => heard(pool, event, held.entry.circuitBreaker?.persistState ?? false))
    return held
  }

  /** Puts a member's breaker where it was saved. */
  private restore(pool: Pool<MemberTarget>, entry: PoolEntry, member: string): void {
    if (!entry.circuitBreaker?.persistState) return
    const saved = this.options.recall(`pool:${encodeURIComponent(pool.id)}:${encodeURIComponent(member)}`)
    if (saved !== undefined) pool.resume(member, saved)
  }

  private remake(id: string, entry: PoolEntry, members: readonly MemberEntry[], old: Held): Held {
    old.off()
    const made = this.make(id, entry, members)
    const known = new Map(made.pool.members().map((member) => [member.id, member]))
    for (const member of old.pool.members()) {
      if (!old.listed.has(member.id) && !known.has(member.id)) made.pool.add(member)
      else if (!known.has(member.id)) continue
      const breaker = old.pool.breaker(member.id)
      if (isUsed(breaker)) made.pool.resume(member.id, breaker.snapshot())
      if (old.pool.status(member.id) === 'drained') made.pool.drain(member.id)
    }
    return made
  }

  private change(held: Held, entry: PoolEntry, members: readonly MemberEntry[]): void {
    const { pool, listed } = held
    const before = JSON.stringify(held.entry.circuitBreaker)
    held.entry = entry
    if (before !== JSON.stringify(entry.circuitBreaker))
      pool.reconfigure(breakerOptions(entry.circuitBreaker))
    const wanted = new Map(members.map((member) => [idOf(member), member]))
    const present = new Set(pool.members().map(({ id }) => id))
    const kept = new Map<string, { breaker: CircuitBreaker; drained: boolean }>()
    for (const [id, text] of listed) {
      const want = wanted.get(id)
      if (want !== undefined && JSON.stringify(want) === text) continue
      listed.delete(id)
      if (!present.delete(id)) continue
      // What is known of a member stays with it, unless it is another one under the same name.
      const url = pool.members().find((member) => member.id === id)?.value.url
      if (want?.url === url)
        kept.set(id, { breaker: pool.breaker(id), drained: pool.status(id) === 'drained' })
      pool.remove(id)
    }
    for (const [id, member] of wanted) {
      if (listed.has(id)) continue
      listed.set(id, JSON.stringify(member))
      if (present.has(id)) continue
      pool.add(memberOf(member))
      const known = kept.get(id)
      if (known !== undefined && isUsed(known.breaker)) pool.resume(id, known.breaker.snapshot())
      else if (known === undefined) this.restore(pool, entry, id)
      if (known?.drained) pool.drain(id)
    }
  }
}
