import { type BreakerEvent, type CircuitBreaker, HoldfastError, type Pool } from 'holdfast'
import { type Check, check, words } from '../check.js'
import type { BreakerFilter, BreakerService } from '../face.js'
import { actorOf } from '../given.js'
import type { Actor, Kit } from '../kit.js'
import type { PoolSet } from '../pools/pools.js'
import type { MemberTarget } from '../pools/target.js'
import type { CircuitBreakerEvent, CircuitBreakerState } from '../records/breaker.js'
import { checkJournalFilter } from '../store/filter.js'
import type { BreakerEventFilter, Page } from '../store/store.js'
import { type BreakerOwner, type BreakerRegistry, breakerId } from './registry.js'

interface Found {
  breaker: CircuitBreaker
  state(): CircuitBreakerState
}

/** The member's or name that a breaker's id ends with. */
export function ownerOf(id: string): BreakerOwner {
  const [kind, first = '', ...rest] = id.split(':').map(decode)
  if (kind === 'policy') return { policyId: first }
  // The name of a member may be written as it is, like `10.0.0.1:8080`.
  return kind === 'pool' ? { pool: first, member: rest.join(':') } : { serviceName: first }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The member of a pool that a breaker is of; null for every other breaker. */
const proxyIdOf = (id: string): string | null => ownerOf(id).member ?? null

/** A change of a breaker's state as a record. */
export function breakerEventRecord(event: BreakerEvent): CircuitBreakerEvent {
  const { id, fromState, toState, failureCount, timestamp } = event
  return { id, proxyId: proxyIdOf(id), fromState, toState, timestamp: new Date(timestamp), failureCount }
}

const FILTER: Readonly<Record<keyof BreakerFilter, Check>> = {
  state: ['closed, open or half_open', (value) => ['closed', 'open', 'half_open'].includes(value as string)],
  pool: words,
}

/** All breakers there are, under one roof: of policies, of services and of the members of pools. */
export class Breakers implements BreakerService {
  private readonly kit: Kit
  private readonly registry: BreakerRegistry
  private readonly pools: PoolSet
  private readonly flush: () => Promise<void>
  private readonly look: () => void

  /**
   * `flush` writes the changes that wait for the store, so that what has just happened can be read; `look` saves the breakers
   * that anything happened to.
   */
  constructor(
    kit: Kit,
    registry: BreakerRegistry,
    pools: PoolSet,
    { flush, look }: { flush: () => Promise<void>; look: () => void },
  ) {
    this.kit = kit
    this.flush = flush
    this.look = look
    this.registry = registry
    this.pools = pools
  }

  async list(filter?: BreakerFilter): Promise<CircuitBreakerState[]> {
    const ids = await this.ids(filter)
    return ids.map((id) => this.find(id)?.state()).filter((record) => record !== undefined)
  }

  async ids(filter: BreakerFilter = {}): Promise<string[]> {
    check('breakers cannot be listed', filter, {}, FILTER)
    const { state, pool: wanted } = filter
    const ids: string[] = []
    if (wanted === undefined)
      for (const { breaker } of this.registry)
        if (state === undefined || breaker.state === state) ids.push(breaker.id)
    for (const pool of this.pools.list()) {
      if (wanted !== undefined && pool.id !== wanted) continue
      const place = breakerId({ pool: pool.id, member: '' })
      if (state === undefined) {
        for (const { id: member } of pool.members()) ids.push(place + encodeURIComponent(member))
        continue
      }
      // Members without a breaker of their own yet are closed; asking for it would make one for each of thousands.
      const others = new Map<string, string>()
      for (const { id, state: is } of pool.usedBreakers()) if (is !== 'closed') others.set(id, is)
      for (const { id: member } of pool.members()) {
        const id = place + encodeURIComponent(member)
        if ((others.get(id) ?? 'closed') === state) ids.push(id)
      }
    }
    return ids
  }

  /** How many there are, and how many are not closed: told without a look at those that were never used. */
  counts(): { total: number; open: number; halfOpen: number } {
    const own = [...this.registry].map(({ breaker }) => breaker)
    const pools = this.pools.list()
    const used = [...own, ...pools.flatMap((pool) => pool.usedBreakers())]
    const of = (state: string) => used.filter((breaker) => breaker.state === state).length
    const total = pools.reduce((sum, { size }) => sum + size, own.length)
    return { total, open: of('open'), halfOpen: of('half_open') }
  }

  async get(id: string): Promise<CircuitBreakerState | undefined> {
    return this.find(id)?.state()
  }

  async reset(id: string, actor?: Actor): Promise<CircuitBreakerState> {
    return this.change(id, actor, 'breaker.reset', (breaker) => breaker.reset())
  }

  async trip(id: string, actor?: Actor): Promise<CircuitBreakerState> {
    return this.change(id, actor, 'breaker.trip', (breaker) => breaker.trip())
  }

  async events(filter?: BreakerEventFilter): Promise<Page<CircuitBreakerEvent>> {
    checkJournalFilter('changes of breakers', filter)
    await this.flush()
    const page = await this.kit.store.breakerEvents.list(filter)
    // Earlier releases wrote the name of the policy or service there.
    return { ...page, items: page.items.map((event) => ({ ...event, proxyId: proxyIdOf(event.id) })) }
  }

  private async change(
    id: string,
    actor: Actor | undefined,
    action: 'breaker.reset' | 'breaker.trip',
    act: (breaker: CircuitBreaker) => void,
  ): Promise<CircuitBreakerState> {
    const by = actorOf(actor)
    const found = this.find(id)
    if (found === undefined)
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `there is no circuit breaker ${String(id)}; ids are policy:ID, service:NAME and pool:POOL:MEMBER`,
        { status: 404 },
      )
    const before = found.state().state
    act(found.breaker)
    const after = found.state()
    this.look() // an open one that is tripped again changes its time, and no state
    await this.kit.audit(by, action, id, { before: { state: before }, after: { state: after.state } })
    return after
  }

  private find(id: string): Found | undefined {
    const { registry, pools } = this
    if (typeof id !== 'string') return undefined
    const own = registry.get(id)
    if (own !== undefined) return { breaker: own, state: () => registry.state(own, ownerOf(id)) }
    const { pool: poolId, member } = ownerOf(id)
    if (poolId === undefined || member === undefined || !pools.has(poolId)) return undefined
    const pool: Pool<MemberTarget> = pools.get(poolId)
    try {
      return { breaker: pool.breaker(member), state: () => pools.state(pool, member) }
    } catch {
      return undefined // no such member
    }
  }
}
