import type { Actor, RuntimeContext } from '@holdfast/config'
import {
  anyString,
  type CircuitBreakerEvent,
  type CircuitBreakerState,
  checkOptions,
  type OptionCheck,
} from '@holdfast/records'
import { type BreakerEventFilter, checkJournalFilter, type Page } from '@holdfast/store'
import { type BreakerEvent, type CircuitBreaker, HoldfastError, type Pool } from 'holdfast'
import type { BreakerFilter, BreakerService } from '../api-types.js'
import { parseActor } from '../call-options.js'
import type { PoolManager } from '../pools/pool-manager.js'
import type { MemberTarget } from '../pools/target.js'
import { type BreakerOwner, type BreakerRegistry, breakerId } from './registry.js'

interface FoundBreaker {
  breaker: CircuitBreaker
  state(): CircuitBreakerState
}

/** The member's or name that a breaker's id ends with. */
export function parseBreakerId(id: string): BreakerOwner {
  const [kind, first = '', ...rest] = id.split(':').map(decodeIdPart)
  if (kind === 'policy') return { policyId: first }
  // The name of a member may be written as it is, like `10.0.0.1:8080`.
  return kind === 'pool' ? { pool: first, member: rest.join(':') } : { serviceName: first }
}

function decodeIdPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The member of a pool that a breaker is of; null for every other breaker. */
const proxyIdOf = (id: string): string | null => parseBreakerId(id).member ?? null

/** A change of a breaker's state as a record. */
export function breakerEventRecord(event: BreakerEvent): CircuitBreakerEvent {
  const { id, fromState, toState, failureCount, timestamp } = event
  return { id, proxyId: proxyIdOf(id), fromState, toState, timestamp: new Date(timestamp), failureCount }
}

const FILTER_CHECKS: Readonly<Record<keyof BreakerFilter, OptionCheck>> = {
  state: ['closed, open or half_open', (value) => ['closed', 'open', 'half_open'].includes(value as string)],
  pool: anyString,
}

/** All breakers there are, under one roof: of policies, of services and of the members of pools. */
export class Breakers implements BreakerService {
  private readonly runtime: RuntimeContext
  private readonly registry: BreakerRegistry
  private readonly pools: PoolManager
  private readonly flush: () => Promise<void>
  private readonly saveChanged: () => void

  /**
   * `flush` writes the changes that wait for the store, so that what has just happened can be read; `saveChanged` saves the breakers
   * that anything happened to.
   */
  constructor(
    runtime: RuntimeContext,
    registry: BreakerRegistry,
    pools: PoolManager,
    { flush, look }: { flush: () => Promise<void>; look: () => void },
  ) {
    this.runtime = runtime
    this.flush = flush
    this.saveChanged = look
    this.registry = registry
    this.pools = pools
  }

  async list(filter?: BreakerFilter): Promise<CircuitBreakerState[]> {
    const ids = await this.ids(filter)
    return ids.map((id) => this.find(id)?.state()).filter((record) => record !== undefined)
  }

  async ids(filter: BreakerFilter = {}): Promise<string[]> {
    checkOptions('breakers cannot be listed', filter, {}, FILTER_CHECKS)
    const { state, pool: wantedPool } = filter
    const ids: string[] = []
    if (wantedPool === undefined)
      for (const { breaker } of this.registry)
        if (state === undefined || breaker.state === state) ids.push(breaker.id)
    for (const pool of this.pools.list()) {
      if (wantedPool !== undefined && pool.id !== wantedPool) continue
      const idPrefix = breakerId({ pool: pool.id, member: '' })
      if (state === undefined) {
        for (const { id: member } of pool.members()) ids.push(idPrefix + encodeURIComponent(member))
        continue
      }
      // Members without a breaker of their own yet are closed; asking for it would make one for each of thousands.
      const others = new Map<string, string>()
      for (const { id, state: is } of pool.usedBreakers()) if (is !== 'closed') others.set(id, is)
      for (const { id: member } of pool.members()) {
        const id = idPrefix + encodeURIComponent(member)
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
    const countInState = (state: string) => used.filter((breaker) => breaker.state === state).length
    const total = pools.reduce((sum, { size }) => sum + size, own.length)
    return { total, open: countInState('open'), halfOpen: countInState('half_open') }
  }

  async get(id: string): Promise<CircuitBreakerState | undefined> {
    return this.find(id)?.state()
  }

  async reset(id: string, actor?: Actor): Promise<CircuitBreakerState> {
    return this.changeState(id, actor, 'breaker.reset', (breaker) => breaker.reset())
  }

  async trip(id: string, actor?: Actor): Promise<CircuitBreakerState> {
    return this.changeState(id, actor, 'breaker.trip', (breaker) => breaker.trip())
  }

  async events(filter?: BreakerEventFilter): Promise<Page<CircuitBreakerEvent>> {
    checkJournalFilter('changes of breakers', filter)
    await this.flush()
    const page = await this.runtime.store.breakerEvents.list(filter)
    // Earlier releases wrote the name of the policy or service there.
    return { ...page, items: page.items.map((event) => ({ ...event, proxyId: proxyIdOf(event.id) })) }
  }

  private async changeState(
    id: string,
    actor: Actor | undefined,
    action: 'breaker.reset' | 'breaker.trip',
    act: (breaker: CircuitBreaker) => void,
  ): Promise<CircuitBreakerState> {
    const by = parseActor(actor)
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
    this.saveChanged() // an open one that is tripped again changes its time, and no state
    await this.runtime.audit(by, action, id, { before: { state: before }, after: { state: after.state } })
    return after
  }

  private find(id: string): FoundBreaker | undefined {
    const { registry, pools } = this
    if (typeof id !== 'string') return undefined
    const own = registry.get(id)
    if (own !== undefined) return { breaker: own, state: () => registry.toRecord(own, parseBreakerId(id)) }
    const { pool: poolId, member } = parseBreakerId(id)
    if (poolId === undefined || member === undefined || !pools.has(poolId)) return undefined
    const pool: Pool<MemberTarget> = pools.get(poolId)
    try {
      return { breaker: pool.breaker(member), state: () => pools.breakerRecord(pool, member) }
    } catch {
      return undefined // no such member
    }
  }
}
