import type { CircuitBreaker, Pool, RetryBudget, RetryBudgetOptions } from 'holdfast'
import type { BreakerRegistry } from '../breakers/registry.js'
import { ownerOf } from '../breakers/service.js'
import type { Config } from '../config/schema/schema.js'
import type { House } from '../house.js'
import type { PoolSet } from '../pools/pools.js'
import { messageOf } from '../records/summary.js'
import type { FleetNode } from './nodes.js'
import type { OwnNode } from './own-node.js'
import type { ShareOptions } from './settings.js'
import { memberShareOf, shareOf } from './shares.js'
import { type FleetStatus, HEARTBEAT, SharedState } from './state.js'
import type { FleetEvent } from './stream.js'
import { timer } from './timer.js'

/** What every node says of itself is told by that node alone. */
const OWN = new Set(['node_joined', 'node_left', 'shared_state_lost', 'shared_state_restored'])

export interface FleetParts {
  house: House
  registry: BreakerRegistry
  pools: PoolSet
  own: OwnNode
  config(): Config
  /** Where a file that the configuration names lies. */
  path(path: string): string
  /** Reads the layer of changes again and puts it in force. */
  readLayer(): Promise<void>
}

/** This process in its fleet: which breakers it shares, and what it hears of other nodes. */
export class Fleet {
  private readonly parts: FleetParts
  private readonly shared: SharedState
  private readonly off: () => void
  /** Breakers that are being compared with the fleet's. */
  private attaching: Promise<unknown> = Promise.resolve()
  private reading: Promise<void> = Promise.resolve()
  private isReadingQueued = false

  private constructor(parts: FleetParts, shared: SharedState) {
    this.parts = parts
    this.shared = shared
    const { house } = parts
    this.off = house.bus.on('*', (event) => {
      if (!OWN.has(event.eventType)) shared.publish(event)
      const { layer, fleet } = event.context ?? {}
      if (event.eventType === 'config_reloaded' && layer === 'api' && fleet !== true) shared.tellLayer()
    })
  }

  /** Joins the fleet that the configuration names; undefined where it names none. @throws INVALID_OPTIONS */
  static async join(parts: FleetParts): Promise<Fleet | undefined> {
    const { house, config, own } = parts
    const { shared: url, node = {} } = config()
    if (!url) return undefined
    let fleet: Fleet | undefined
    const shared = await SharedState.open(url, house, {
      node: own.id,
      heartbeat: node.heartbeat,
      self: () => own.describe(),
      path: parts.path,
      find: (id) => fleet?.find(id),
      openSince: (id, at) => void parts.registry.openings.set(id, at),
      layerChanged: (from) => fleet?.readLayer(from),
    })
    fleet = new Fleet(parts, shared)
    // What opened just before may not have been noted yet; what opens from now on is heard of.
    timer(house.clock, () => void shared.aside.learn(), 2 * (node.heartbeat ?? HEARTBEAT))
    return fleet
  }

  /** What this node is called. */
  get node(): string {
    return this.parts.own.id
  }

  /** Whether Redis answers. */
  get connected(): boolean {
    return this.status().up
  }

  /** How many commands were sent to Redis. */
  get commands(): number {
    return this.status().commands
  }

  /** How this node stands with the fleet. */
  status(): FleetStatus {
    return this.shared.status()
  }

  /** The nodes that live, by id; this one alone while Redis is lost. */
  nodes(): Promise<FleetNode[]> {
    return this.shared.nodes()
  }

  /** Events of every node, oldest first; `after` is the place of the last one that was read. */
  events(asked?: { after?: string | undefined; limit?: number | undefined }): Promise<FleetEvent[]> {
    return this.shared.events(asked)
  }

  /** A retry budget that the whole fleet draws on. */
  budget(id: string, options: RetryBudgetOptions & { window: number }): RetryBudget {
    return this.shared.budget(id, options)
  }

  /** Resolves when every breaker stands where the fleet's does, or Redis is lost. */
  async settled(): Promise<void> {
    await this.attaching
  }

  /** Shares what the configuration says, and nothing else. */
  apply(): void {
    const { registry, pools } = this.parts
    const { circuitBreakers = {} } = this.parts.config()
    const work: Promise<void>[] = []
    for (const id of this.shared.attached())
      if (registry.get(id) === undefined && this.find(id) === undefined) this.shared.detach(id)
    for (const { breaker, owner } of registry) {
      const { serviceName } = owner
      const entry = serviceName === undefined ? undefined : circuitBreakers[serviceName]
      work.push(this.shared.attach(breaker, shareOf(entry)))
    }
    for (const pool of pools.list())
      for (const { id } of pool.members()) {
        const options = this.memberShare(pool.id, id)
        // Only those whose failures are added up must be there from the first failure on.
        if (options.share === 'counts') work.push(this.shared.attach(pool.breaker(id), options))
      }
    const rests = this.shared.rests.keep(
      pools.list() as Pool[],
      (pool, member) => this.memberShare(pool, member).share !== 'none',
    )
    const aside = this.shared.aside.keep(pools.list().map(({ id }) => id))
    this.attaching = Promise.all([...work, rests, aside])
  }

  /** A member's breaker has opened by what this node has seen: it is shared from here on. */
  memberOpened(pool: string, member: string, breaker: CircuitBreaker): void {
    if (breaker.coordinator !== undefined) return
    const options = this.memberShare(pool, member)
    // What it finds out first is that the fleet does not know yet.
    void this.shared.attach(breaker, options)
  }

  async close(): Promise<void> {
    this.off()
    await this.shared.close()
  }

  private readLayer(node: string): void {
    const { house, readLayer } = this.parts
    // One reading that has not begun yet serves all messages before it, however many there are.
    if (this.isReadingQueued) return
    this.isReadingQueued = true
    this.reading = this.reading.then(async () => {
      this.isReadingQueued = false
      try {
        await readLayer()
        house.emit({
          eventType: 'config_reloaded',
          component: 'config',
          context: { layer: 'api', fleet: true, node },
        })
      } catch (error) {
        house.complain(`changes that ${node} made could not be read: ${messageOf(error)}`)
      }
    })
  }

  private memberShare(pool: string, member: string): ShareOptions {
    const entry = this.parts.config().pools?.[pool]
    return entry === undefined ? shareOf(undefined) : memberShareOf(entry, member)
  }

  /** The member's breaker of that id. */
  private find(id: string): { breaker: CircuitBreaker; options: ShareOptions; calls: number } | undefined {
    const { pool: poolId, member } = ownerOf(id)
    const { pools } = this.parts
    if (poolId === undefined || member === undefined || !pools.has(poolId)) return undefined
    const pool = pools.get(poolId)
    try {
      const calls = pool.stats(member).totalAttempts
      return { breaker: pool.breaker(member), options: this.memberShare(poolId, member), calls }
    } catch {
      return undefined // no such member
    }
  }
}
