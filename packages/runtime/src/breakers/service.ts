import type { Actor, RuntimeContext } from '@holdfast/config'
import {
  anyString,
  type CircuitBreakerEvent,
  type CircuitBreakerState,
  checkOptions,
  type OptionCheck,
} from '@holdfast/records'
import { type BreakerEventFilter, checkJournalFilter, type Page } from '@holdfast/store'
import { type BreakerState, type CircuitBreaker, HoldfastError, type TripOptions } from 'holdfast'
import { BREAKER_STATES, forEachInTurns } from 'holdfast/internal'
import type { BreakerFilter, BreakerService } from '../api-types.js'
import { parseActor } from '../call-options.js'
import { breakerId, parseBreakerId, proxyIdOf } from './breaker-id.js'
import type { BreakerPools } from './member-breakers.js'
import type { BreakerRegistry } from './registry.js'

/** How many records are created in a turn of the event loop: 1 to 2 ms. */
const RECORDS_PER_TURN = 250

interface FoundBreaker {
  breaker: CircuitBreaker
  state(): CircuitBreakerState
}

const FILTER_CHECKS: Readonly<Record<keyof BreakerFilter, OptionCheck>> = {
  state: ['closed, open or half_open', (value) => BREAKER_STATES.includes(value as BreakerState)],
  pool: anyString,
}

/** Lists and changes all breakers: those of policies, of services and of pool members. */
export class Breakers implements BreakerService {
  private readonly runtime: RuntimeContext
  private readonly registry: BreakerRegistry
  private readonly pools: BreakerPools
  private readonly flush: () => Promise<void>
  private readonly saveChanged: () => void

  /**
   * `flush` writes the state changes that wait for the store, so that they can be read at once; `saveChanged` saves the breakers
   * that have changed.
   */
  constructor(
    runtime: RuntimeContext,
    registry: BreakerRegistry,
    pools: BreakerPools,
    { flush, saveChanged }: { flush: () => Promise<void>; saveChanged: () => void },
  ) {
    this.runtime = runtime
    this.flush = flush
    this.saveChanged = saveChanged
    this.registry = registry
    this.pools = pools
  }

  async list(filter: BreakerFilter = {}): Promise<CircuitBreakerState[]> {
    const records: CircuitBreakerState[] = []
    await forEachInTurns(await this.ids(filter), RECORDS_PER_TURN, (id) => {
      const record = this.find(id)?.state()
      // A breaker can be gone by now, or have changed its state.
      if (record !== undefined && (filter.state ?? record.state) === record.state) records.push(record)
    })
    return records
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
      // A member whose breaker was never used counts as closed: reading it would create a breaker for each of thousands.
      const notClosed = new Map<string, string>()
      for (const breaker of pool.usedBreakers())
        if (breaker.state !== 'closed') notClosed.set(breaker.id, breaker.state)
      for (const { id: member } of pool.members()) {
        const id = idPrefix + encodeURIComponent(member)
        if ((notClosed.get(id) ?? 'closed') === state) ids.push(id)
      }
    }
    return ids
  }

  /** How many breakers there are and how many of them are not closed, without creating the ones that were never used. */
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

  async trip(id: string, options?: Actor & TripOptions): Promise<CircuitBreakerState> {
    const { duration } = options ?? {}
    return this.changeState(id, options, 'breaker.trip', (breaker) =>
      breaker.trip(duration === undefined ? {} : { duration }),
    )
  }

  async events(filter?: BreakerEventFilter): Promise<Page<CircuitBreakerEvent>> {
    checkJournalFilter('changes of breakers', filter)
    await this.flush()
    const page = await this.runtime.store.breakerEvents.list(filter)
    // Earlier releases stored the name of the policy or service as proxyId.
    return { ...page, items: page.items.map((event) => ({ ...event, proxyId: proxyIdOf(event.id) })) }
  }

  private async changeState(
    id: string,
    actor: Actor | undefined,
    action: 'breaker.reset' | 'breaker.trip',
    change: (breaker: CircuitBreaker) => void,
  ): Promise<CircuitBreakerState> {
    const by = parseActor(actor)
    const found = this.find(id)
    if (found === undefined)
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `circuit breaker ${String(id)} not found; expected policy:ID, service:NAME or pool:POOL:MEMBER`,
        { status: 404 },
      )
    const before = found.state().state
    change(found.breaker)
    const after = found.state()
    // Tripping an open breaker again changes its end but not its state, so no event saves it.
    this.saveChanged()
    const until = after.nextTestTime?.toISOString()
    await this.runtime.audit(by, action, id, {
      before: { state: before },
      after: { state: after.state, ...(until !== undefined && { next_test_time: until }) },
    })
    return after
  }

  private find(id: string): FoundBreaker | undefined {
    const { registry, pools } = this
    if (typeof id !== 'string') return undefined
    const own = registry.get(id)
    if (own !== undefined) return { breaker: own, state: () => registry.toRecord(own, parseBreakerId(id)) }
    const { pool: poolId, member } = parseBreakerId(id)
    if (poolId === undefined || member === undefined || !pools.has(poolId)) return undefined
    const pool = pools.get(poolId)
    try {
      return { breaker: pool.breaker(member), state: () => pools.breakerRecord(pool, member) }
    } catch {
      return undefined // The pool has no such member.
    }
  }
}
