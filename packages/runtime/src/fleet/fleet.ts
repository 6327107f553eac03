import type { Config } from '@holdfast/config'
import {
  FleetCoordinator,
  type FleetEvent,
  type FleetNode,
  type FleetStatus,
  HEARTBEAT_MS,
  type ShareOptions,
  setUnrefTimer,
} from '@holdfast/fleet'
import { errorMessageOf } from '@holdfast/records'
import type { CircuitBreaker, Pool, RetryBudget, RetryBudgetOptions } from 'holdfast'
import { parseBreakerId } from '../breakers/breaker-id.js'
import type { BreakerRegistry } from '../breakers/registry.js'
import type { StoreBackedContext } from '../context/store-backed-context.js'
import type { PoolManager } from '../pools/pool-manager.js'
import type { LocalNode } from './local-node.js'
import { memberShareOptions, toShareOptions } from './share-options.js'

/** What every node says of itself is told by that node alone. */
const NODE_EVENTS = new Set(['node_joined', 'node_left', 'shared_state_lost', 'shared_state_restored'])

export interface FleetParts {
  runtime: StoreBackedContext
  registry: BreakerRegistry
  pools: PoolManager
  localNode: LocalNode
  config(): Config
  /** Where a file that the configuration names lies. */
  resolvePath(path: string): string
  /** Reads the layer of changes again and puts it in force. */
  readLayer(): Promise<void>
}

/** This process in its fleet: which breakers it shares, and what it hears of other nodes. */
export class Fleet {
  private readonly parts: FleetParts
  private readonly coordinator: FleetCoordinator
  private readonly unsubscribe: () => void
  /** Breakers that are being compared with the fleet's. */
  private attachments: Promise<unknown> = Promise.resolve()
  private layerRead: Promise<void> = Promise.resolve()
  private isReadingQueued = false

  private constructor(parts: FleetParts, shared: FleetCoordinator) {
    this.parts = parts
    this.coordinator = shared
    const { runtime } = parts
    this.unsubscribe = runtime.bus.on('*', (event) => {
      if (!NODE_EVENTS.has(event.eventType)) shared.publish(event)
      const { layer, fleet } = event.context ?? {}
      if (event.eventType === 'config_reloaded' && layer === 'api' && fleet !== true)
        shared.publishLayerChange()
    })
  }

  /** Joins the fleet that the configuration names; undefined where it names none. @throws INVALID_OPTIONS */
  static async join(parts: FleetParts): Promise<Fleet | undefined> {
    const { runtime, config, localNode } = parts
    const { shared: url, node = {} } = config()
    if (!url) return undefined
    let fleet: Fleet | undefined
    const coordinator = await FleetCoordinator.open(url, runtime, {
      node: localNode.id,
      heartbeat: node.heartbeat,
      self: () => localNode.describe(),
      resolvePath: parts.resolvePath,
      findBreaker: (id) => fleet?.findMemberBreaker(id),
      onOpenSince: (id, at) => void parts.registry.openedAt.set(id, at),
      onLayerChanged: (from) => fleet?.readLayer(from),
    })
    fleet = new Fleet(parts, coordinator)
    // What opened just before may not have been noted yet; what opens from now on is heard of.
    setUnrefTimer(
      runtime.clock,
      () => void coordinator.ejected.refresh(),
      2 * (node.heartbeat ?? HEARTBEAT_MS),
    )
    return fleet
  }

  /** What this node is called. */
  get node(): string {
    return this.parts.localNode.id
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
    return this.coordinator.status()
  }

  /** The nodes that live, by id; this one alone while Redis is lost. */
  nodes(): Promise<FleetNode[]> {
    return this.coordinator.nodes()
  }

  /** Events of every node, oldest first; `after` is the place of the last one that was read. */
  events(asked?: { after?: string | undefined; limit?: number | undefined }): Promise<FleetEvent[]> {
    return this.coordinator.events(asked)
  }

  /** A retry budget that the whole fleet draws on. */
  budget(id: string, options: RetryBudgetOptions & { window: number }): RetryBudget {
    return this.coordinator.budget(id, options)
  }

  /** Resolves when every breaker stands where the fleet's does, or Redis is lost. */
  async settled(): Promise<void> {
    await this.attachments
  }

  /** Shares what the configuration says, and nothing else. */
  apply(): void {
    const { registry, pools } = this.parts
    const { circuitBreakers = {} } = this.parts.config()
    const work: Promise<void>[] = []
    for (const id of this.coordinator.attachedIds())
      if (registry.get(id) === undefined && this.findMemberBreaker(id) === undefined)
        this.coordinator.detach(id)
    for (const { breaker, owner } of registry) {
      const { serviceName } = owner
      const entry = serviceName === undefined ? undefined : circuitBreakers[serviceName]
      work.push(this.coordinator.attach(breaker, toShareOptions(entry)))
    }
    for (const pool of pools.list())
      for (const { id } of pool.members()) {
        const options = this.memberShareOptions(pool.id, id)
        // Only those whose failures are added up must be there from the first failure on.
        if (options.share === 'counts') work.push(this.coordinator.attach(pool.breaker(id), options))
      }
    const rests = this.coordinator.cooldowns.setPools(
      pools.list() as Pool[],
      (pool, member) => this.memberShareOptions(pool, member).share !== 'none',
    )
    const aside = this.coordinator.ejected.setPools(pools.list().map(({ id }) => id))
    this.attachments = Promise.all([...work, rests, aside])
  }

  /** A member's breaker has opened by what this node has seen: it is shared from here on. */
  memberOpened(pool: string, member: string, breaker: CircuitBreaker): void {
    if (breaker.coordinator !== undefined) return
    const options = this.memberShareOptions(pool, member)
    // What it finds out first is that the fleet does not know yet.
    void this.coordinator.attach(breaker, options)
  }

  async close(): Promise<void> {
    this.unsubscribe()
    await this.coordinator.close()
  }

  private readLayer(node: string): void {
    const { runtime, readLayer } = this.parts
    // One reading that has not begun yet serves all messages before it, however many there are.
    if (this.isReadingQueued) return
    this.isReadingQueued = true
    this.layerRead = this.layerRead.then(async () => {
      this.isReadingQueued = false
      try {
        await readLayer()
        runtime.emit({
          eventType: 'config_reloaded',
          component: 'config',
          context: { layer: 'api', fleet: true, node },
        })
      } catch (error) {
        runtime.warn(`changes that ${node} made could not be read: ${errorMessageOf(error)}`)
      }
    })
  }

  private memberShareOptions(pool: string, member: string): ShareOptions {
    const entry = this.parts.config().pools?.[pool]
    return entry === undefined ? toShareOptions(undefined) : memberShareOptions(entry, member)
  }

  /** The member's breaker of that id. */
  private findMemberBreaker(
    id: string,
  ): { breaker: CircuitBreaker; options: ShareOptions; calls: number } | undefined {
    const { pool: poolId, member } = parseBreakerId(id)
    const { pools } = this.parts
    if (poolId === undefined || member === undefined || !pools.has(poolId)) return undefined
    const pool = pools.get(poolId)
    try {
      const calls = pool.stats(member).totalAttempts
      return { breaker: pool.breaker(member), options: this.memberShareOptions(poolId, member), calls }
    } catch {
      return undefined // no such member
    }
  }
}
